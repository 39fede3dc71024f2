/**
 * What the agents and people of a project decided and learned: a decision inbox, decisions, memories and sessions, with
 * where each comes from and who vouched for it; the part of a turn's context that is made of them; and their files in
 * the repository.
 */
import { join } from "node:path"
import { Effect } from "effect"
import { EventLog } from "#core/event-log.ts"
import { definePlugin } from "#core/plugin.ts"
import { Projects } from "#core/project/projects.ts"
import { Sql } from "#core/sql.ts"
import { memoryTools } from "#plugins/memory/agent-tools.ts"
import { memoryContext } from "#plugins/memory/context/hook.ts"
import { makeMemory } from "#plugins/memory/memory.ts"
import { decisionRoutes } from "#plugins/memory/routes/decisions.ts"
import { entryRoutes } from "#plugins/memory/routes/entries.ts"
import { fileRoutes } from "#plugins/memory/routes/files.ts"
import { inboxRoutes } from "#plugins/memory/routes/inbox.ts"
import { sessionRoutes } from "#plugins/memory/routes/sessions.ts"
import { memoryMcpTools } from "#plugins/memory/tools.ts"

const project = "/api/projects/{id}"

export const memory = definePlugin({
  name: "memory",
  description: "Keeps what a project decided and learned, and tells its agents of it.",
  migrations: join(import.meta.dirname, "migrations"),
  routes: [
    `POST ${project}/decisions/inbox`,
    `GET ${project}/decisions/inbox`,
    `POST ${project}/decisions/inbox/{entryId}/merge`,
    `POST ${project}/decisions/inbox/{entryId}/promote`,
    `POST ${project}/decisions/inbox/{entryId}/reject`,
    `POST ${project}/decisions`,
    `GET ${project}/decisions`,
    `GET ${project}/decisions/{decisionId}`,
    `PUT ${project}/decisions/{decisionId}`,
    `POST ${project}/decisions/{decisionId}/approve`,
    `POST ${project}/agents/{name}/memory`,
    `GET ${project}/agents/{name}/memory`,
    `GET ${project}/agents/{name}/memory/{memId}`,
    `PUT ${project}/agents/{name}/memory/{memId}`,
    `POST ${project}/agents/{name}/memory/{memId}/promote`,
    `GET ${project}/memory`,
    `POST ${project}/memory/export`,
    `POST ${project}/memory/import`,
    `POST ${project}/sessions`,
    `GET ${project}/sessions`,
    `GET ${project}/sessions/current`,
    `PUT ${project}/sessions/current`,
    `PATCH ${project}/sessions/{sessionId}`,
  ],
  hooks: ["agent.context"],
  setup: Effect.fnUntraced(function* () {
    const projects = yield* Projects
    const whole = makeMemory(yield* Sql, yield* EventLog)
    const routes = {
      inbox: inboxRoutes(whole),
      decisions: decisionRoutes(whole),
      entries: entryRoutes(whole),
      sessions: sessionRoutes(whole),
      files: fileRoutes(whole, projects),
    }
    return {
      routes: Object.values(routes).flatMap((part) => Object.values(part)),
      tools: memoryMcpTools(routes),
      hooks: [yield* memoryContext],
      agentTools: memoryTools(whole, projects),
    }
  }),
})
