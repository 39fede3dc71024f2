/** Messages that the agents of a project send each other: kept, leased, delivered and acknowledged. */
import { join } from "node:path"
import { Effect } from "effect"
import { definePlugin } from "#core/plugin.ts"
import { Projects } from "#core/project/projects.ts"
import { Sql } from "#core/sql.ts"
import { messageTools } from "#plugins/messages/agent-tools.ts"
import { makeMessages } from "#plugins/messages/messages.ts"
import { messageRoutes } from "#plugins/messages/routes.ts"

const path = "/api/projects/{id}/agent-messages"

export const messages = definePlugin({
  name: "messages",
  description: "Carries messages from the agent of one run to that of another.",
  migrations: join(import.meta.dirname, "migrations"),
  routes: [
    `POST ${path}`,
    `GET ${path}`,
    `POST ${path}/claim`,
    `GET ${path}/{messageId}`,
    `POST ${path}/{messageId}/deliver`,
    `POST ${path}/{messageId}/acknowledge`,
    `POST ${path}/{messageId}/retry`,
  ],
  setup: Effect.fnUntraced(function* () {
    const post = makeMessages(yield* Sql, yield* Projects)
    return { routes: messageRoutes(post), agentTools: messageTools(post) }
  }),
})
