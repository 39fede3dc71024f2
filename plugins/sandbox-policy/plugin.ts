/** The sandbox policy of a repository over HTTP: what commands of agents may do there. */
import { Effect } from "effect"
import { definePlugin } from "#core/plugin.ts"
import { sandboxPolicyRoutes } from "#plugins/sandbox-policy/routes.ts"

export const sandboxPolicy = definePlugin({
  name: "sandbox-policy",
  description: "Reads and sets what commands of agents may do in a repository.",
  routes: ["GET /api/sandbox-policy", "PUT /api/sandbox-policy"],
  setup: () => Effect.map(sandboxPolicyRoutes, (routes) => ({ routes })),
})
