/** The routes of coordinator runs. */
import { Effect } from "effect"
import { assemblyFileRoutes } from "#runtime/orchestration/routes/assembly-files.ts"
import { decideRoutes } from "#runtime/orchestration/routes/decide.ts"
import { planRoutes } from "#runtime/orchestration/routes/plan.ts"
import { orchestrationStartRoutes } from "#runtime/orchestration/routes/start.ts"

export const orchestrationRoutes = Effect.map(
  Effect.all([orchestrationStartRoutes, planRoutes, decideRoutes, assemblyFileRoutes]),
  (all) => all.flat(),
)
