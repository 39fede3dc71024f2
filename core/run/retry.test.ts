import { Result } from "effect"
import { describe, expect, it } from "vitest"
import { decideRetry } from "#core/run/retry.ts"
import { runStatuses } from "#core/run/status.ts"

const said = (
  source: Partial<Parameters<typeof decideRetry>[0]>,
  existing?: { runId: string; status: "in_progress" | "failed" },
): string =>
  Result.match(decideRetry({ status: "failed", parentRunId: null, retryDepth: 0, ...source }, existing), {
    onFailure: (refusal) => refusal.code,
    onSuccess: (run) => run?.runId ?? "new",
  })

describe("a retry", () => {
  it.each(runStatuses)("of a run that is %s is made only where that failed", (status) => {
    const failed = status === "failed" || status === "merge_failed"
    expect(said({ status })).toBe(failed ? "new" : "run_not_retryable")
  })

  it("is the same one when it is asked for twice", () => {
    expect(said({}, { runId: "r2", status: "in_progress" })).toBe("r2")
  })

  it("is refused where the retry failed too: that one is retried", () => {
    expect(said({}, { runId: "r2", status: "failed" })).toBe("run_not_retryable")
  })

  it("is refused for a child", () => expect(said({ parentRunId: "p" })).toBe("run_not_retryable"))

  it("is made three times in a chain and not a fourth time", () => {
    expect([0, 1, 2, 3, 4].map((retryDepth) => said({ retryDepth }))).toEqual([
      "new",
      "new",
      "new",
      "retry_limit_reached",
      "retry_limit_reached",
    ])
  })
})
