/** An orchestration is started: a goal, for the team of a project. */
import { Effect, Schema } from "effect"
import { subjectOf } from "#core/auth/caller.ts"
import { Models } from "#core/ports/models.ts"
import { Projects } from "#core/project/projects.ts"
import { type Issue, type Refusal, refuse, refuseInput } from "#core/refusal.ts"
import { access, type Route, reply, route } from "#core/route.ts"
import { safeTools } from "#core/run/new-run.ts"
import { Settings } from "#core/settings.ts"
import { Sql } from "#core/sql.ts"
import type { StartMode } from "#runtime/coordinator/state.ts"
import { CoordinatorStore } from "#runtime/coordinator/store.ts"
import { once } from "#runtime/orchestration/idempotency.ts"
import { builtInRoster } from "#runtime/orchestration/team.ts"

/** Characters. */
const maxGoal = 32_000
const modelForm = /^(?:gpt|claude|o)[a-z0-9._-]*$/i

const text = (maximum: number) => Schema.optionalKey(Schema.NullOr(Schema.String.check(Schema.isMaxLength(maximum))))
const flag = Schema.optionalKey(Schema.NullOr(Schema.Boolean))

const StartBody = Schema.Struct({
  goal: text(maxGoal),
  modelId: text(200),
  start_mode: text(40),
  auto_approve_tools: flag,
  autoApproveTools: flag,
  autopilot: flag,
  workflow_override_id: text(200),
})
type StartBody = typeof StartBody.Type

const Started = Schema.Struct({ runId: Schema.String })

const modes: Readonly<Record<string, StartMode>> = {
  direct: "direct",
  defineOutcome: "defineOutcome",
  define_outcome: "defineOutcome",
}

interface Wanted {
  readonly goal: string
  readonly modelId: string | null
  readonly startMode: StartMode
  readonly autoApproveTools: boolean
  readonly autopilot: boolean
}

const read = (body: StartBody): Effect.Effect<Wanted, Refusal> => {
  const issues: Array<Issue> = []
  const goal = body.goal?.trim() ?? ""
  if (goal === "") issues.push({ path: "body.goal", message: "goal is required." })
  const modelId = body.modelId ?? null
  if (modelId !== null && !modelForm.test(modelId)) {
    issues.push({ path: "body.modelId", message: "model_id is not allowed." })
  }
  const startMode = Object.hasOwn(modes, body.start_mode ?? "direct") ? modes[body.start_mode ?? "direct"] : undefined
  if (startMode === undefined) {
    issues.push({ path: "body.start_mode", message: "start_mode must be direct or defineOutcome." })
  }
  if (body.workflow_override_id != null) {
    issues.push({ path: "body.workflow_override_id", message: "There is no workflow with this id." })
  }
  if (issues.length > 0 || startMode === undefined) {
    return Effect.fail(refuseInput(issues, issues.map((issue) => issue.message).join(" ")))
  }
  return Effect.succeed({
    goal,
    modelId,
    startMode,
    autoApproveTools: body.auto_approve_tools ?? body.autoApproveTools ?? false,
    autopilot: body.autopilot ?? false,
  })
}

type Needs = CoordinatorStore | Projects | Models | Settings | Sql

export const orchestrationStartRoutes: Effect.Effect<ReadonlyArray<Route>, never, Needs> = Effect.gen(function* () {
  const store = yield* CoordinatorStore
  const projects = yield* Projects
  const models = yield* Models
  const sql = yield* Sql
  const { Providers } = yield* Settings
  // what stands in for a model counts for every project
  const standIn = Providers.Default === "scripted" || Providers.Default === "tape" ? Providers.Default : null

  return [
    route<{ readonly id: string }, Record<never, never>, StartBody, typeof Started.Type>({
      method: "POST",
      path: "/api/projects/{id}/orchestrations",
      access: access.project("contributor"),
      summary: "Start an orchestration: a goal becomes a plan, its parts are worked on, reviewed and merged once",
      tag: "Coordinator",
      body: StartBody,
      answer: Started,
      statuses: [201],
      handle: Effect.fn("orchestration.start")(function* ({ params, body, caller, headers }) {
        const wanted = yield* read(body)
        const project = yield* projects.get(params.id)
        if (project.state !== "active") return yield* refuse("project_deleting")
        if (!project.available) return yield* refuse("workspace_unavailable")
        const by = subjectOf(caller)
        const modelSource = standIn ?? project.defaultProvider
        const own = { hosted: project.defaultModelHosted, byok: project.defaultModelByok } as const
        const requested =
          wanted.modelId ?? (modelSource === "hosted" || modelSource === "byok" ? own[modelSource] : null)
        const start = Effect.gen(function* () {
          // where no provider is configured the run itself says so: the plan needs an answer, not the request
          const modelId = yield* models.resolve(modelSource, requested).pipe(
            Effect.map((choice) => choice.modelId),
            Effect.orElseSucceed(() => requested),
          )
          const run = yield* store.start({
            goal: wanted.goal,
            startMode: wanted.startMode,
            roster: builtInRoster(modelId ?? ""),
            projectId: project.projectId,
            submittedBy: by,
            modelSource,
            modelId,
            repository: project.workingDirectory,
            originatingBranch: project.defaultBranch,
            policy: {
              autoApproveTools: wanted.autoApproveTools,
              autopilot: wanted.autopilot,
              source: "direct",
              safeTools,
            },
          })
          return { answer: run.runId, result: run.runId }
        })
        const runId = yield* once(sql, {
          headers,
          scope: `orchestrations ${project.projectId} ${by}`,
          request: wanted,
          act: start,
          again: Effect.succeed,
        })
        return reply.json(201, { runId }, { location: `/api/runs/${runId}` })
      }),
    }),
  ]
})
