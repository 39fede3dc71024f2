/** The first step: the model is known, the sandbox is known, the checkout is there. */
import { Effect, Exit } from "effect"
import { Checkouts, type Place } from "#core/ports/checkouts.ts"
import { Models } from "#core/ports/models.ts"
import { Sandbox } from "#core/ports/sandbox.ts"
import { RunWorkflowGraph } from "#core/run/events/run.ts"
import { SandboxSelected, SandboxWarning } from "#core/run/events/sandbox.ts"
import { AgentTask } from "#core/run/events/turn.ts"
import { Runs } from "#core/run/runs.ts"
import { effectivePolicy } from "#core/sandbox-policy/stored-policy.ts"
import { checkoutFailure, internalError, modelFailure } from "#runtime/runs/failure.ts"
import { runGraph } from "#runtime/runs/graph.ts"
import { onward, type StepInput, type Stepped } from "#runtime/runs/held.ts"

export const prepare = Effect.fn("runs.prepare")(function* ({ run, held }: StepInput) {
  const models = yield* Models
  const checkouts = yield* Checkouts
  const { repository } = run
  if (repository === null) {
    yield* held.write({ command: internalError("The run does not say which repository it is for.") })
    return onward
  }
  const { backend, isRealIsolation, reason } = yield* (yield* Sandbox).status
  const { policy } = yield* effectivePolicy(repository)
  const ready = Effect.gen(function* () {
    const choice = yield* models.resolve(run.modelSource, run.modelId)
    const checkout = yield* checkouts.prepare({ runId: run.runId, repository, base: run.originatingBranch ?? "HEAD" })
    const warning = policy.networkEnabled
      ? [
          SandboxWarning.of({
            category: "network-unrestricted",
            message: "The policy of this repository lets commands use the network, without limits.",
            backend,
          }),
        ]
      : []
    yield* held.write({
      work: { stage: "turn" },
      facts: {
        modelId: choice.modelId,
        effectiveModelProvider: choice.provenance,
        sandbox: {
          backend,
          is_real_isolation: isRealIsolation,
          selection_reason: reason,
          has_network_warning: policy.networkEnabled,
          // a turn in the process of the service has no pod that it could be bound to
          current_binding: { state: "unavailable", reason: "not_in_a_pod" },
        },
      },
      events: [
        RunWorkflowGraph.of({ ...runGraph({ ...run, modelId: choice.modelId }) }),
        SandboxSelected.of({ backend, is_real_isolation: isRealIsolation, reason }),
        ...warning,
        AgentTask.of({ task: run.task }),
      ],
      command: { _tag: "Start", worktreePath: checkout.path, worktreeBranch: checkout.branch },
    })
  })
  yield* ready.pipe(
    Effect.catchTags({
      ModelFailed: (failed) => held.write({ command: modelFailure(failed) }),
      CheckoutFailed: (failed) => held.write({ command: checkoutFailure(failed) }),
    }),
    Effect.onExit((exit) => (Exit.isSuccess(exit) ? Effect.void : clearDeleted({ runId: run.runId, repository }))),
  )
  return onward satisfies Stepped
})

/** Whoever deleted the run meanwhile looked for its checkout before it was there. */
const clearDeleted = Effect.fnUntraced(function* (place: Place) {
  const runs = yield* Runs
  const checkouts = yield* Checkouts
  yield* runs.get(place.runId).pipe(
    Effect.asVoid,
    Effect.catchTag("Refusal", () => checkouts.remove(place, { branch: true })),
    Effect.catchTags({
      DatabaseUnavailable: () => Effect.void,
      CheckoutFailed: ({ message }) => Effect.logWarning(message),
    }),
  )
})
