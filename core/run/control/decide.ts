/** Decisions of people about what waits in a run, as pure functions: the answer and the events of it, or the refusal. */
import { Result } from "effect"
import type { NewEvent } from "#core/event.ts"
import { type Refusal, refuse } from "#core/refusal.ts"
import { bareHash, type ControlState } from "#core/run/control/state.ts"
import {
  QuestionAnswered,
  type Scope,
  ShellApprovalDenied,
  ShellApprovalGranted,
  scopes,
  ToolApprovalDenied,
  ToolApprovalGranted,
  ToolApprovalResolved,
} from "#core/run/events/control.ts"

/** What a decision leads to. `events` is empty where it was made before. */
export interface Decided {
  readonly state: "approved" | "denied" | "expired"
  readonly applied: boolean
  readonly events: ReadonlyArray<NewEvent>
}

type Choice = "approved" | "denied"

export const scopeOf = (text: string | null | undefined): Scope => scopes.find((scope) => scope === text) ?? "once"

export const decideTool = (
  state: ControlState,
  requestId: string,
  choice: Choice,
  scope: Scope,
  by: string,
  now: number,
): Result.Result<Decided, Refusal> => {
  const request = state.tools.get(requestId)
  if (request === undefined) return Result.fail(refuse("unknown_approval", { extra: { state: "unknown" } }))
  if (request.state === "expired") return done("expired")
  if (request.state === "pending" && isPast(request.expiresAt, now)) {
    return Result.succeed({
      state: "expired",
      applied: false,
      events: [
        ToolApprovalResolved.of({
          request_id: requestId,
          tool_name: request.toolName,
          state: "expired",
          applied: true,
        }),
      ],
    })
  }
  if (request.state === choice) return done(choice)
  if (request.state !== "pending") return Result.fail(decidedOtherwise("request_id", request.state))
  const about = { request_id: requestId, tool_name: request.toolName }
  return Result.succeed({
    state: choice,
    applied: true,
    events: [
      choice === "approved"
        ? ToolApprovalGranted.of({ ...about, scope, granted_by: by })
        : ToolApprovalDenied.of({ ...about, denied_by: by }),
    ],
  })
}

export const decideShell = (
  state: ControlState,
  commandHash: string,
  choice: Choice,
  by: string,
  now: number,
): Result.Result<Decided, Refusal> => {
  const request = state.shell.get(bareHash(commandHash))
  if (request === undefined) return Result.fail(nonePending("command_hash"))
  // an approval that is used up already was one: who asks twice does not know how fast the agent was
  if (request.state === choice || (request.state === "used" && choice === "approved")) return done(choice)
  if (request.state !== "pending") return Result.fail(decidedOtherwise("command_hash", request.state))
  if (isPast(request.expiresAt, now)) return Result.fail(decidedOtherwise("command_hash", "expired"))
  const command_hash = `sha256:${bareHash(commandHash)}`
  return Result.succeed({
    state: choice,
    applied: true,
    events: [
      choice === "approved"
        ? ShellApprovalGranted.of({ command_hash, granted_by: by })
        : ShellApprovalDenied.of({ command_hash, denied_by: by }),
    ],
  })
}

/** `events` is empty where the same answer was given before. */
export const decideAnswer = (
  state: ControlState,
  requestId: string,
  answer: string,
  by: string,
  now: number,
): Result.Result<{ readonly events: ReadonlyArray<NewEvent> }, Refusal> => {
  const question = state.questions.get(requestId)
  if (question?.state === "answered" && question.answer === answer) return Result.succeed({ events: [] })
  if (question?.state !== "pending" || isPast(question.expiresAt, now)) {
    const state = question === undefined ? "unknown" : question.state === "answered" ? "answered" : "expired"
    return Result.fail(refuse("no_pending_question", { extra: { state } }))
  }
  return Result.succeed({ events: [QuestionAnswered.of({ requestId, answer, timedOut: false, answeredBy: by })] })
}

export const isPast = (time: string | null, now: number): boolean => time !== null && Date.parse(time) <= now

const done = (state: Decided["state"]): Result.Result<Decided, Refusal> =>
  Result.succeed({ state, applied: false, events: [] })

const nonePending = (what: "request_id" | "command_hash"): Refusal =>
  refuse("no_pending_approval", { message: `No pending approval found for this ${what}.` })

const decidedOtherwise = (what: "request_id" | "command_hash", state: string): Refusal =>
  refuse("no_pending_approval", {
    message: `No pending approval found for this ${what}. It is ${state} already.`,
    extra: { state },
  })
