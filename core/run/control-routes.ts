/** Decisions of people about a running run: approvals, answers, switches. */
import { Effect, Schema } from "effect"
import { subjectOf } from "#core/auth/caller.ts"
import { type Refusal, refuseInput } from "#core/refusal.ts"
import { access, type Route, route } from "#core/route.ts"
import { type Outcome, RunControl } from "#core/run/control.ts"

const tag = "Run control"

/** Characters. */
const maxId = 256
const maxAnswer = 32_768

interface ById {
  readonly id: string
}

const id = Schema.optionalKey(Schema.NullOr(Schema.String.check(Schema.isMaxLength(maxId))))

const RequestBody = Schema.Struct({ request_id: id, scope: Schema.optionalKey(Schema.NullOr(Schema.String)) })
const ShellBody = Schema.Struct({ command_hash: id })
const AnswerBody = Schema.Struct({
  answer: Schema.optionalKey(Schema.NullOr(Schema.String.check(Schema.isMaxLength(maxAnswer)))),
})
const SwitchBody = Schema.Struct({ enabled: Schema.Boolean })

/** Members that are there where the decision had been made before, or came too late. */
const resolved = {
  resolved: Schema.optionalKey(Schema.Boolean),
  expired: Schema.optionalKey(Schema.Boolean),
  state: Schema.optionalKey(Schema.Literals(["approved", "denied", "expired"])),
  applied: Schema.optionalKey(Schema.Boolean),
}
const choice = { approved: Schema.optionalKey(Schema.Boolean), denied: Schema.optionalKey(Schema.Boolean) }

const ToolAnswer = Schema.Struct({ run_id: Schema.String, request_id: Schema.String, ...choice, ...resolved })
const ShellAnswer = Schema.Struct({ run_id: Schema.String, command_hash: Schema.String, ...choice, ...resolved })
const Answered = Schema.Struct({ run_id: Schema.String, request_id: Schema.String, answered: Schema.Boolean })
const AutoApprove = Schema.Struct({ run_id: Schema.String, auto_approve_tools: Schema.Boolean })
const Autopilot = Schema.Struct({ run_id: Schema.String, autopilot: Schema.Boolean })

const required = (value: string | null | undefined, field: string): Effect.Effect<string, Refusal> =>
  value == null || value.trim() === ""
    ? Effect.fail(refuseInput([{ path: `body.${field}`, message: `${field} is required.` }], `${field} is required.`))
    : Effect.succeed(value)

const decision = (asked: "approved" | "denied", { state, applied }: Outcome) => ({
  [asked]: state === asked,
  ...(applied ? {} : { resolved: true, expired: state === "expired", state, applied }),
})

export const controlRoutes: Effect.Effect<ReadonlyArray<Route>, never, RunControl> = Effect.gen(function* () {
  const control = yield* RunControl
  const contributor = access.run("contributor")

  const toolRoute = (path: string, summary: string, asked: "approved" | "denied") =>
    route<ById, Record<never, never>, typeof RequestBody.Type, typeof ToolAnswer.Type>({
      method: "POST",
      path,
      access: contributor,
      summary,
      tag,
      body: RequestBody,
      bodyOptional: true,
      answer: ToolAnswer,
      handle: Effect.fn("control.tool")(function* ({ params, body, caller }) {
        const requestId = yield* required(body.request_id, "request_id")
        const by = subjectOf(caller)
        const outcome = yield* asked === "approved"
          ? control.approveTool(params.id, requestId, body.scope ?? null, by)
          : control.denyTool(params.id, requestId, by)
        return { run_id: outcome.runId, request_id: requestId, ...decision(asked, outcome) }
      }),
    })

  const shellRoute = (path: string, summary: string, asked: "approved" | "denied") =>
    route<ById, Record<never, never>, typeof ShellBody.Type, typeof ShellAnswer.Type>({
      method: "POST",
      path,
      access: contributor,
      summary,
      tag,
      body: ShellBody,
      bodyOptional: true,
      answer: ShellAnswer,
      handle: Effect.fn("control.shell")(function* ({ params, body, caller }) {
        const commandHash = yield* required(body.command_hash, "command_hash")
        const by = subjectOf(caller)
        const outcome = yield* asked === "approved"
          ? control.approveShell(params.id, commandHash, by)
          : control.denyShell(params.id, commandHash, by)
        return { run_id: outcome.runId, command_hash: commandHash, ...decision(asked, outcome) }
      }),
    })

  return [
    toolRoute("/api/runs/{id}/tool-approvals", "Allow a tool call that waits", "approved"),
    toolRoute("/api/runs/{id}/tool-denials", "Refuse a tool call that waits", "denied"),
    shellRoute("/api/runs/{id}/shell-approvals", "Allow a shell command that waits, once", "approved"),
    shellRoute("/api/runs/{id}/shell-denials", "Refuse a shell command that waits", "denied"),
    route<{ id: string; requestId: string }, Record<never, never>, typeof AnswerBody.Type, typeof Answered.Type>({
      method: "POST",
      path: "/api/runs/{id}/questions/{requestId}/answer",
      access: contributor,
      summary: "Answer a question of an agent",
      tag,
      params: Schema.Struct({ id: Schema.String, requestId: Schema.String.check(Schema.isMaxLength(maxId)) }),
      body: AnswerBody,
      bodyOptional: true,
      answer: Answered,
      handle: Effect.fn("control.answer")(function* ({ params, body, caller }) {
        const text = yield* required(body.answer, "answer")
        const owner = yield* control.answer(params.id, params.requestId, text, subjectOf(caller))
        return { run_id: owner, request_id: params.requestId, answered: true }
      }),
    }),
    route<ById, Record<never, never>, typeof SwitchBody.Type, typeof AutoApprove.Type>({
      method: "POST",
      path: "/api/runs/{id}/auto-approve",
      access: contributor,
      summary: "Let safe tools run unasked, or not",
      tag,
      body: SwitchBody,
      answer: AutoApprove,
      handle: ({ params, body, caller }) =>
        Effect.map(control.setAutoApprove(params.id, body.enabled, subjectOf(caller)), (enabled) => ({
          run_id: params.id,
          auto_approve_tools: enabled,
        })),
    }),
    route<ById, Record<never, never>, typeof SwitchBody.Type, typeof Autopilot.Type>({
      method: "POST",
      path: "/api/runs/{id}/autopilot",
      access: contributor,
      summary: "Let the coordinator confirm and answer by itself, or not",
      tag,
      body: SwitchBody,
      answer: Autopilot,
      handle: ({ params, body, caller }) =>
        Effect.map(control.setAutopilot(params.id, body.enabled, subjectOf(caller)), (enabled) => ({
          run_id: params.id,
          autopilot: enabled,
        })),
    }),
  ]
})
