/** A run of its own is started: one agent, one task, one repository. */
import { isAbsolute } from "node:path"
import { Effect, Schema } from "effect"
import { Access } from "#core/auth/access.ts"
import { type Caller, subjectOf } from "#core/auth/caller.ts"
import { allows } from "#core/auth/role.ts"
import { isId } from "#core/ids.ts"
import { Projects } from "#core/project/projects.ts"
import { type Issue, refuse, refuseInput } from "#core/refusal.ts"
import { access, type Route, reply, route } from "#core/route.ts"
import { safeTools } from "#core/run/new-run.ts"
import { coordinatorAgent } from "#core/run/run.ts"
import { Runs } from "#core/run/runs.ts"
import { RunStatus } from "#core/run/status.ts"
import { Settings } from "#core/settings.ts"

/** Characters. */
const maxTask = 32_000
const maxName = 128
const maxPath = 4_096

/** Model ids that the interface allows from outside. */
const modelForm = /^(?:gpt|claude|o)[a-z0-9._-]*$/i
const sourceForm = /^(?:hosted|byok(?::[A-Za-z0-9_-]{1,64})?|scripted|tape)$/
const agentForm = /^[A-Za-z0-9][A-Za-z0-9 ._-]*$/
/** What git takes as the name of a branch is asked of git later; this keeps options and control characters out. */
const branchForm = /^(?!-)[^\p{Cc}\p{Cs}\s~^:?*[\\]+$/u

const text = (maximum: number) => Schema.optionalKey(Schema.NullOr(Schema.String.check(Schema.isMaxLength(maximum))))

const CreateBody = Schema.Struct({
  project_id: text(64),
  repository_path: text(maxPath),
  originating_branch: text(255),
  task: text(maxTask),
  model_source: text(80),
  model_id: text(200),
  agent_name: text(maxName),
  auto_approve_tools: Schema.optionalKey(Schema.NullOr(Schema.Boolean)),
})

const Created = Schema.Struct({ run_id: Schema.String, workflow_run_id: Schema.String, status: RunStatus })

type Body = typeof CreateBody.Type

const read = (body: Body) => {
  const issues: Array<Issue> = []
  const wrong = (field: string, message: string) => void issues.push({ path: `body.${field}`, message })
  const matching = (field: keyof Body, form: RegExp, expected: string): string | null => {
    const value = body[field]
    if (value == null || value === "") return null
    if (typeof value !== "string" || !form.test(value)) wrong(field, expected)
    return String(value)
  }
  const task = body.task?.trim() ?? ""
  if (task === "") wrong("task", "task is required.")
  const spec = {
    task,
    projectId: body.project_id ?? null,
    repositoryPath: body.repository_path?.trim() || null,
    branch: matching("originating_branch", branchForm, "originating_branch is not the name of a branch."),
    modelSource: matching("model_source", sourceForm, "model_source must be hosted, byok, scripted or tape."),
    modelId: matching("model_id", modelForm, "model_id is not allowed."),
    agentName: matching("agent_name", agentForm, "agent_name may have letters, digits, spaces and . _ -"),
    autoApproveTools: body.auto_approve_tools ?? false,
  }
  // an agent of that name decides for the team: only an orchestration makes one
  if (spec.agentName?.trim().toLowerCase() === coordinatorAgent.toLowerCase()) {
    wrong("agent_name", `agent_name must not be ${coordinatorAgent}: start an orchestration.`)
  }
  if (spec.projectId === null && spec.repositoryPath === null) {
    wrong("repository_path", "repository_path or project_id is required.")
  }
  if (spec.repositoryPath !== null && !isAbsolute(spec.repositoryPath)) {
    wrong("repository_path", "repository_path must be an absolute path.")
  }
  return issues.length > 0
    ? Effect.fail(refuseInput(issues, issues.map((issue) => issue.message).join(" ")))
    : Effect.succeed(spec)
}

export const startRoutes: Effect.Effect<ReadonlyArray<Route>, never, Runs | Projects | Access | Settings> = Effect.gen(
  function* () {
    const runs = yield* Runs
    const projects = yield* Projects
    const roles = yield* Access
    const { Providers } = yield* Settings

    /** The project, for somebody who may start runs in it. To others it does not exist. */
    const projectFor = Effect.fnUntraced(function* (projectId: string, caller: Caller) {
      if (!isId(projectId)) return yield* refuse("invalid_project_id")
      const found = yield* roles.project(projectId, caller)
      if (!found.exists || found.role === null) return yield* refuse("project_not_found")
      if (!allows(found.role, "contributor")) return yield* refuse("forbidden")
      const project = yield* projects.get(projectId)
      return project.available ? project : yield* refuse("workspace_unavailable")
    })

    return [
      route<Record<never, never>, Record<never, never>, Body, typeof Created.Type>({
        method: "POST",
        path: "/api/runs",
        access: access.authenticated,
        summary: "Start a run: one agent works on one task in one repository",
        tag: "Runs",
        body: CreateBody,
        answer: Created,
        statuses: [201],
        handle: Effect.fn("runs.start")(function* ({ body, caller }) {
          const spec = yield* read(body)
          const project = spec.projectId === null ? null : yield* projectFor(spec.projectId, caller)
          const path = spec.repositoryPath ?? project?.workingDirectory ?? ""
          const { realPath, defaultBranch } = yield* projects.workspace(path, "repository_path")
          if (project !== null && realPath !== project.workingDirectory) {
            const message = "repository_path is not the working directory of the project."
            return yield* refuseInput([{ path: "body.repository_path", message }], message)
          }
          const usual = Providers.Default === "hosted" || Providers.Default === "byok" ? null : Providers.Default
          const modelSource = spec.modelSource ?? usual ?? project?.defaultProvider ?? Providers.Default
          const models = { hosted: project?.defaultModelHosted, byok: project?.defaultModelByok } as const
          const run = yield* runs.create({
            projectId: project?.projectId ?? null,
            submittedBy: subjectOf(caller),
            agentName: spec.agentName,
            task: spec.task,
            modelSource,
            modelId:
              spec.modelId ?? (modelSource === "hosted" || modelSource === "byok" ? models[modelSource] : null) ?? null,
            repository: realPath,
            originatingBranch: spec.branch ?? project?.defaultBranch ?? defaultBranch,
            driven: true,
            policy: { autoApproveTools: spec.autoApproveTools, autopilot: false, source: "direct", safeTools },
          })
          return reply.json(
            201,
            { run_id: run.runId, workflow_run_id: run.workflowRunId, status: run.status },
            { location: `/api/runs/${run.runId}` },
          )
        }),
      }),
    ]
  },
)
