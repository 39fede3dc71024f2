/** What a coordinator does in the world, by the services of this replica. */
import { Effect, Layer } from "effect"
import type { EventLog } from "#core/event-log.ts"
import { Hooks } from "#core/hook.ts"
import { type CheckoutFailed, Checkouts } from "#core/ports/checkouts.ts"
import type { Models } from "#core/ports/models.ts"
import type { Sandbox } from "#core/ports/sandbox.ts"
import { Projects } from "#core/project/projects.ts"
import { Settings } from "#core/settings.ts"
import type { Sql } from "#core/sql.ts"
import { steeringDecide } from "#policies/steering/question.ts"
import { planOf } from "#runtime/coordinator/evolve/parts.ts"
import { defaultLimits } from "#runtime/coordinator/limits.ts"
import { answerByModel } from "#runtime/coordinator/model/autopilot.ts"
import { decomposeByModel, draftSpecByModel } from "#runtime/coordinator/model/contract.ts"
import { critiqueGate, raiGate } from "#runtime/coordinator/model/gates.ts"
import { type CoordinatorState, integrationBranch } from "#runtime/coordinator/state.ts"
import { CoordinatorWorld, WorldFailed } from "#runtime/coordinator/world.ts"
import { buildTestGate } from "#runtime/orchestration/build-test-gate.ts"
import { taskOf, worksOf } from "#runtime/orchestration/child-task.ts"
import { chooseModels } from "#runtime/orchestration/choose-models.ts"
import { permitReview } from "#runtime/orchestration/permit-review.ts"
import { gatesOf, reviewPolicyOf } from "#runtime/orchestration/review-policy.ts"
import { runScribe } from "#runtime/orchestration/scribe.ts"
import { charterOf } from "#runtime/orchestration/team.ts"

/** Bytes of the diff that reviewers are shown. */
const maxDiff = 1_048_576

const checkoutFailed = ({ kind, message }: CheckoutFailed): WorldFailed =>
  new WorldFailed({ reason: `checkout_${kind}`, message, retryable: kind === "unavailable" })

const unavailable = ({ message }: { readonly message: string }): WorldFailed =>
  new WorldFailed({ reason: "unavailable", message, retryable: true })

/** Where the run's work happens. */
const placeOf = ({ run }: CoordinatorState) =>
  run.repository === null || run.originatingBranch === null
    ? Effect.fail(
        new WorldFailed({
          reason: "workspace_unavailable",
          message: "The run does not say which repository and branch it is for.",
          retryable: false,
        }),
      )
    : Effect.succeed({ repository: run.repository, branch: run.originatingBranch })

export const coordinatorWorldLayer = Layer.effect(
  CoordinatorWorld,
  Effect.gen(function* () {
    const settings = yield* Settings
    const projects = yield* Projects
    const checkouts = yield* Checkouts
    const hooks = yield* Hooks
    const context = yield* Effect.context<Models | Hooks | EventLog | Checkouts | Sandbox | Settings | Sql>()
    const author = { name: "svc", email: settings.Runs.CommitEmail }

    const comparison = Effect.fnUntraced(function* (state: CoordinatorState) {
      const { repository, branch } = yield* placeOf(state)
      const { commit } = planOf(state).assembly
      if (commit === null) {
        return yield* new WorldFailed({
          reason: "not_integrated",
          message: "Nothing is assembled yet.",
          retryable: false,
        })
      }
      return checkouts.compare({ repository, from: branch, to: commit })
    })
    const wholeChange = Effect.fnUntraced(function* (state: CoordinatorState) {
      const compared = yield* comparison(state)
      return yield* Effect.all({ diff: compared.diff(maxDiff), files: compared.files }).pipe(
        Effect.mapError(checkoutFailed),
      )
    })

    const reviewPolicy = Effect.fnUntraced(function* (state: CoordinatorState) {
      const place = yield* placeOf(state)
      return yield* reviewPolicyOf(state.run.projectId, place).pipe(
        Effect.provideContext(context),
        Effect.catchTags({ CheckoutFailed: (failure) => checkoutFailed(failure), DatabaseUnavailable: unavailable }),
      )
    })

    return CoordinatorWorld.of({
      limits: Effect.succeed({
        ...defaultLimits,
        width: settings.Coordinator.MaxParallelSubtasks,
        stallMinutes: settings.Coordinator.SubtaskStallTimeoutMinutes,
      }),
      draftSpec: Effect.fn("orchestration.draftSpec")(function* (state, tell) {
        const { projectId } = state.run
        const project =
          projectId === null ? undefined : yield* Effect.orElseSucceed(projects.get(projectId), () => undefined)
        const { OutcomeSpecModel, Model } = settings.Generation
        const modelId = project?.outcomeSpecGenerationModel ?? OutcomeSpecModel ?? Model ?? null
        return yield* Effect.provideContext(draftSpecByModel(state, modelId, tell), context)
      }),
      decompose: Effect.fn("orchestration.decompose")(function* (state, tell) {
        // before the model is asked: a policy that is broken costs nothing
        const policy = yield* reviewPolicy(state)
        const parts = yield* Effect.provideContext(decomposeByModel(state, null, tell), context)
        return { workflowId: null, gates: gatesOf(policy), parts: yield* chooseModels(hooks, state, parts) }
      }),
      prepareChild: Effect.fn("orchestration.prepareChild")(function* ({ state, subtask, base }) {
        const { repository, branch } = yield* placeOf(state)
        const { run } = state
        const works = worksOf(state, base)
        const startsFrom = works.length === 0 ? branch : yield* integratedBase(repository, branch, run.runId, works)
        return {
          projectId: run.projectId,
          submittedBy: run.submittedBy,
          agentName: subtask.assignedAgent,
          task: taskOf(state, subtask),
          modelSource: run.modelSource,
          modelId: subtask.selectedModelId,
          repository,
          originatingBranch: startsFrom,
          charter: subtask.charter ?? charterOf(subtask.assignedAgent),
          driven: true,
        }
      }),
      touchedFiles: Effect.fn("orchestration.touchedFiles")(function* (state) {
        const { repository } = yield* placeOf(state)
        const made = Object.values(state.children).filter(({ commit }) => commit !== null)
        const entries = yield* Effect.forEach(
          made,
          ({ runId }) =>
            checkouts.open({ runId, repository }).pipe(
              Effect.flatMap((checkout) => checkouts.files(checkout, "committed")),
              Effect.map((files) => [runId, files.map(({ path }) => path)] as const),
              // a checkout that is gone names no file: the scope falls back to all
              Effect.orElseSucceed(() => [runId, []] as const),
            ),
          { concurrency: 4 },
        )
        return Object.fromEntries(entries)
      }),
      decide: (ask, runId) => hooks.ask(steeringDecide, ask, { runId }).pipe(Effect.mapError(unavailable)),
      answerQuestion: (state, asked, tell) => Effect.provideContext(answerByModel(state, asked, tell), context),
      integrate: Effect.fn("orchestration.integrate")(function* (state, order) {
        const { repository, branch } = yield* placeOf(state)
        const works = worksOf(state, order)
        const target = integrationBranch(state.run.runId)
        const integrated = yield* integrate(repository, branch, target, works).pipe(Effect.mapError(checkoutFailed))
        if (integrated._tag === "Conflict") {
          const conflicting = works[integrated.index]
          return { _tag: "Conflict", subtaskId: conflicting?.subtaskId ?? 0, files: integrated.files }
        }
        const { commit, treeHash } = integrated
        const settled = integrated.settled.flatMap(({ index, files }) => {
          const work = works[index]
          return work === undefined ? [] : [{ subtaskId: work.subtaskId, files }]
        })
        const files = yield* checkouts
          .compare({ repository, from: branch, to: commit })
          .files.pipe(Effect.mapError(checkoutFailed))
        return { _tag: "Integrated", commit, treeHash, hasChanges: files.length > 0, settled }
      }),
      runGate: Effect.fn("orchestration.runGate")(function* (state, { gate }, tell) {
        switch (gate) {
          case "rai":
            return yield* Effect.provideContext(raiGate(state, yield* wholeChange(state)), context)
          case "rubberduck":
            return yield* Effect.provideContext(critiqueGate(state, yield* wholeChange(state)), context)
          case "build-test": {
            const { repository } = yield* placeOf(state)
            return yield* Effect.provideContext(buildTestGate(state, repository, tell), context)
          }
        }
      }),
      diff: Effect.fn("orchestration.diff")(function* (state) {
        const change = yield* wholeChange(state)
        yield* permitReview(hooks, state, change)
        return change.diff
      }),
      merge: Effect.fn("orchestration.merge")(function* (state, { commit }) {
        const { repository, branch } = yield* placeOf(state)
        const goal = (state.run.goal.split("\n", 1)[0] ?? "").slice(0, 72)
        const message = `Merge ${integrationBranch(state.run.runId)}: ${goal}`
        const result = yield* checkouts
          .merge({ repository, branch, commit, message, author })
          .pipe(Effect.mapError(checkoutFailed))
        return result._tag === "Merged" ? { _tag: "Merged", commit: result.commit } : result
      }),
      scribe: (state) => Effect.provideContext(runScribe(state), context),
    })

    /**
     * The commit from which a child starts that builds on the work of others. A conflict that is settled in it comes
     * again when all is put together, in the same order, and is told then.
     */
    function integratedBase(
      repository: string,
      branch: string,
      runId: string,
      works: ReadonlyArray<{ readonly commit: string; readonly message: string }>,
    ) {
      return Effect.gen(function* () {
        const integrated = yield* integrate(repository, branch, `svc/base/${runId}`, works).pipe(
          Effect.mapError(checkoutFailed),
        )
        if (integrated._tag === "Integrated") return integrated.commit
        return yield* new WorldFailed({
          reason: "prerequisites_conflict",
          message: `The work that this subtask builds on does not fit together: ${integrated.files.join(", ")}`,
          retryable: false,
        })
      })
    }

    /** A branch of ours at the work of these, in their order, on top of `base`. */
    function integrate(
      repository: string,
      base: string,
      branch: string,
      works: ReadonlyArray<{ readonly commit: string; readonly message: string }>,
    ) {
      return Effect.flatMap(checkouts.branchHead(repository, branch), (expected) =>
        checkouts.integrate({
          repository,
          base,
          branch,
          expected,
          commits: works.map(({ commit, message }) => ({ commit, message })),
          author,
        }),
      )
    }
  }),
)
