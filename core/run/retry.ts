/** May a run be retried? Only a failed run of its own, at most three times in a chain, each run once. */
import { Result } from "effect"
import { type Refusal, refuse } from "#core/refusal.ts"
import type { Run } from "#core/run/run.ts"
import { isTerminal, type RunStatus } from "#core/run/status.ts"

/** Retries in one chain. */
export const maxRetryDepth = 3

const retryable: ReadonlyArray<RunStatus> = ["failed", "merge_failed"]

type Source = Pick<Run, "status" | "parentRunId" | "retryDepth">

/** `existing` is the retry that is there already. Undefined: make a new one. Else: that one is the answer. */
export const decideRetry = <R extends Pick<Run, "runId" | "status">>(
  source: Source,
  existing: R | undefined,
): Result.Result<R | undefined, Refusal> => {
  const extra = { status: source.status }
  if (source.parentRunId !== null) {
    return Result.fail(refuse("run_not_retryable", { message: "A child run is retried by its coordinator.", extra }))
  }
  if (!retryable.includes(source.status)) return Result.fail(refuse("run_not_retryable", { extra }))
  if (existing !== undefined) {
    return isTerminal(existing.status)
      ? Result.fail(
          refuse("run_not_retryable", {
            message: `The run was retried before. Retry ${existing.runId} instead.`,
            extra: { ...extra, retried_by: existing.runId },
          }),
        )
      : Result.succeed(existing)
  }
  if (source.retryDepth >= maxRetryDepth) return Result.fail(refuse("retry_limit_reached", { extra }))
  return Result.succeed(undefined)
}
