/** Carries one action out: what the world answers, as the changes that follow from it. */
import { Effect } from "effect"
import { newId } from "#core/ids.ts"
import type { DatabaseUnavailable } from "#core/sql.ts"
import type { Action } from "#runtime/coordinator/action.ts"
import { planOf, subtaskOf } from "#runtime/coordinator/evolve/parts.ts"
import { idsNeeded, plannedFrom } from "#runtime/coordinator/model/plan.ts"
import { gated, integrated, merged, received, steered, synthesized } from "#runtime/coordinator/outcome.ts"
import type { CoordinatorState } from "#runtime/coordinator/state.ts"
import { steeringAsk } from "#runtime/coordinator/steering/ask.ts"
import { CoordinatorStore, type Save } from "#runtime/coordinator/store.ts"
import { CoordinatorWorld, type Tell, type WorldFailed } from "#runtime/coordinator/world.ts"

type Performed = Pick<Save, "state" | "changes" | "child">

export const perform = Effect.fn("coordinator.perform")(function* (
  state: CoordinatorState,
  action: Action,
  tell: Tell,
): Effect.fn.Return<Performed, WorldFailed | DatabaseUnavailable, CoordinatorStore | CoordinatorWorld> {
  const store = yield* CoordinatorStore
  const world = yield* CoordinatorWorld
  const stamp = Effect.gen(function* () {
    const [id = 0] = yield* store.reserve(1)
    return { id, at: yield* store.now }
  })
  switch (action._tag) {
    case "Write":
      return { state, changes: action.changes }
    case "SynthesizeSpec":
      return { state, changes: synthesized(state, (yield* stamp).id) }
    case "DraftSpec": {
      const draft = yield* world.draftSpec(state, tell)
      const specId = state.spec?.specId ?? (yield* stamp).id
      return { state, changes: [{ _tag: "SpecDrafted", specId, draft }] }
    }
    case "Decompose": {
      const { parts, ...choice } = yield* world.decompose(state, tell)
      return { state, changes: [plannedFrom(parts, choice, yield* store.reserve(idsNeeded(parts)))] }
    }
    case "Dispatch": {
      const { subtaskId, attempt, base } = action
      const subtask = subtaskOf(planOf(state), subtaskId)
      const childRunId = newId()
      const child = yield* world.prepareChild({ state, subtask, attempt, base, childRunId })
      return {
        state,
        changes: [{ _tag: "Dispatched", subtaskId, attempt, childRunId }],
        child: { ...child, runId: childRunId, parentRunId: state.run.runId, subtaskId },
      }
    }
    case "Signal":
      return { state, changes: [received(action.signal, yield* stamp)] }
    case "Decide": {
      const seen = withFiles(state, yield* world.touchedFiles(state))
      const directive = seen.directives.find(({ directiveId }) => directiveId === action.directiveId)
      if (directive === undefined) return { state, changes: [] }
      const answer = yield* world.decide(steeringAsk(seen, directive), state.run.runId)
      return { state: seen, changes: steered(seen, action.directiveId, answer, yield* store.now) }
    }
    case "AnswerQuestion": {
      const { _tag: _, ...asked } = action
      const answer = yield* world.answerQuestion(state, asked, tell)
      return { state, changes: [{ _tag: "QuestionAnswered", ...asked, answer }] }
    }
    case "SteerChild": {
      const { directiveId, subtaskId } = action
      return { state, changes: [{ _tag: "ChildSteered", directiveId, subtaskId, at: yield* store.now }] }
    }
    case "Integrate":
      return { state, changes: integrated(state, yield* world.integrate(state, action.order), yield* stamp) }
    case "RunGate":
      return { state, changes: gated(state, action.gate, yield* world.runGate(state, action, tell), yield* stamp) }
    case "RequestReview":
      return { state, changes: [{ _tag: "ReviewRequested", diff: yield* world.diff(state), gateId: action.gateId }] }
    case "Merge":
      return { state, changes: merged(yield* world.merge(state, action)) }
    case "Scribe":
      return { state, changes: [{ _tag: "Scribed", failure: yield* world.scribe(state) }] }
  }
})

const withFiles = (
  state: CoordinatorState,
  files: Readonly<Record<string, ReadonlyArray<string>>>,
): CoordinatorState => ({
  ...state,
  children: Object.fromEntries(
    Object.entries(state.children).map(([runId, child]) => [runId, { ...child, touchedFiles: files[runId] ?? [] }]),
  ),
})
