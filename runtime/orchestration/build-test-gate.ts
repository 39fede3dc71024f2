/** The gate that builds and tests what was assembled, with the repository's own commands. */
import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { Duration, Effect } from "effect"
import { type Checkout, Checkouts } from "#core/ports/checkouts.ts"
import { redactText } from "#core/redaction.ts"
import { ToolOutput } from "#core/run/events/turn.ts"
import { effectivePolicy } from "#core/sandbox-policy/stored-policy.ts"
import { Settings } from "#core/settings.ts"
import type { TopFiles } from "#runtime/build-test/build-command.ts"
import { runBuildTest } from "#runtime/build-test/build-test.ts"
import { planOf } from "#runtime/coordinator/evolve/parts.ts"
import type { GateAnswer } from "#runtime/coordinator/outcome.ts"
import type { CoordinatorState } from "#runtime/coordinator/state.ts"
import { targetFilesIn } from "#runtime/coordinator/target-files.ts"
import { type Tell, WorldFailed } from "#runtime/coordinator/world.ts"

/** Characters of what a finding says. */
const maxSummary = 1_800

const infrastructure = (reason: string, message: string): GateAnswer => ({
  _tag: "Unavailable",
  infrastructure: { reason, message: message.slice(0, maxSummary) },
})

/** What is at the top of the checkout, as far as it can be read. It is ours alone: nobody writes there while this looks. */
const topOf = (checkout: Checkout): TopFiles => ({
  names: readdirSync(checkout.path),
  read: (path) => {
    try {
      return readFileSync(join(checkout.path, path), "utf8")
    } catch {
      return undefined
    }
  },
})

export const buildTestGate = Effect.fn("orchestration.buildTest")(function* (
  state: CoordinatorState,
  repository: string,
  tell: Tell,
) {
  const checkouts = yield* Checkouts
  const { AssemblyBuildTestTimeoutMinutes, AssemblyBuildTestStallTimeoutMinutes } = (yield* Settings).Coordinator
  const { assembly } = planOf(state)
  if (assembly.commit === null) {
    return yield* new WorldFailed({ reason: "not_integrated", message: "Nothing is assembled yet.", retryable: false })
  }
  const { policy, shellOff } = yield* effectivePolicy(repository)
  if (shellOff !== null) return infrastructure("build_test_infra_policy", shellOff)
  const place = { runId: `build-${state.run.runId}-${assembly.round}`, repository }
  const base = assembly.commit
  const built = Effect.acquireUseRelease(
    checkouts.prepare({ ...place, base }),
    (checkout) =>
      runBuildTest({
        workingDirectory: checkout.path,
        mounts: checkout.mounts,
        top: topOf(checkout),
        network: policy.networkEnabled,
        maxOutputBytes: policy.maxOutputBytes,
        limit: Duration.minutes(AssemblyBuildTestTimeoutMinutes),
        stall: Duration.minutes(AssemblyBuildTestStallTimeoutMinutes),
        redact: (text) => redactText(text, { personal: policy.redactPii }),
        onOutput: (_, stream, data) =>
          data === "" ? Effect.void : Effect.ignore(tell([ToolOutput.of({ stream, data })])),
      }),
    () => Effect.ignore(checkouts.remove(place, { branch: true })),
  )
  const verdict = yield* built.pipe(
    Effect.catchTag("CheckoutFailed", ({ message }) =>
      Effect.succeed({ _tag: "Unavailable" as const, reason: "build_test_infra_checkout", detail: message }),
    ),
  )
  switch (verdict._tag) {
    case "Passed":
      return {
        _tag: "Passed",
        verdict: "approved",
        summary:
          verdict.source === null
            ? "The repository says nothing about how it is built and tested."
            : `Passed: ${verdict.commands.join("; ")}`,
      } satisfies GateAnswer
    case "Failed":
      return {
        _tag: "Rejected",
        verdict: "request_changes",
        summary: `${verdict.command} ended with ${verdict.exitCode}.\n${verdict.output.slice(-maxSummary)}`,
        severity: "request-changes",
        // a command may say in so many words which files are meant
        targetFiles: targetFilesIn(verdict.output),
      } satisfies GateAnswer
    case "Unavailable":
      return infrastructure(verdict.reason, verdict.detail)
  }
})
