/** How a run ends where its work cannot go on: what `run.failed` says of it. */

import { Schema } from "effect"
import type { CheckoutFailed } from "#core/ports/checkouts.ts"
import type { RunCommand } from "#core/run/command.ts"
import type { ModelFailed } from "#core/wire/model.ts"

export type Failure = Extract<RunCommand, { _tag: "Fail" }>

const failure = (errorCode: string, message: string, retryable: boolean, result?: string): Failure => ({
  _tag: "Fail",
  errorCode,
  message,
  retryable,
  ...(result === undefined ? {} : { result }),
})

/** The code is the kind of the failure: `RateLimited`, `UnavailableModel`, … */
export const modelFailure = ({ kind, message, retryable }: ModelFailed): Failure => failure(kind, message, retryable)

export const checkoutFailure = ({ kind, message }: CheckoutFailed): Failure =>
  failure(kind === "unavailable" ? "workspace_unavailable" : `checkout_${kind}`, message, kind === "unavailable")

export const bounded = (limit: "max_steps" | "max_minutes", steps: number): Failure =>
  failure(
    "run_bounded",
    limit === "max_steps"
      ? `The agent was stopped after ${steps} steps, as many as one turn may have.`
      : `The agent was stopped after ${steps} steps: its time was up.`,
    true,
    limit,
  )

export const unsafeContent = (rationale: string): Failure =>
  failure("content_safety", `The responsible-AI review refused the change: ${rationale}`, false, "content_safety")

/** The context of a turn cannot be composed: what has to be in it does not fit, or its plugin cannot answer. */
export class ContextRefused extends Schema.TaggedError<ContextRefused>()("ContextRefused", {
  message: Schema.String,
}) {}

export const contextFailure = ({ message }: ContextRefused): Failure => failure("context_unavailable", message, false)

/** The reason of `run.error` where another worker takes a run over. */
export const workerLost = "The worker of this run was lost. Another one goes on from what was stored."

/** For what nobody foresaw. The log of the service says more. */
export const internalError = (message = "The work on this run failed for a reason inside the service."): Failure =>
  failure("agent_turn_internal_error", message, true)
