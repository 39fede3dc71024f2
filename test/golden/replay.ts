/** Decides everything in a log once more, and says where the decision is another one. */
import { isDeepStrictEqual } from "node:util"
import type { SteeringAnswer, SteeringAsk } from "#policies/steering/model.ts"
import { steer } from "#policies/steering/steer.ts"
import type { Action } from "#runtime/coordinator/action.ts"
import { next } from "#runtime/coordinator/next.ts"
import { steered } from "#runtime/coordinator/outcome.ts"
import type { CoordinatorState } from "#runtime/coordinator/state.ts"
import { steeringAsk } from "#runtime/coordinator/steering/ask.ts"
import { folded, type Line, type LineOf, plain } from "#test/golden/log.ts"
import { summaryOf } from "#test/golden/summary.ts"

export interface Deciders {
  readonly next: (state: CoordinatorState, now: number) => ReadonlyArray<Action>
  readonly steer: (ask: SteeringAsk) => SteeringAnswer
}

export interface Difference {
  /** From 1. */
  readonly line: number
  readonly what: string
  readonly state: string
  readonly expected: unknown
  readonly got: unknown
}

export interface Replayed {
  /** What was decided, in order, up to the first difference. */
  readonly decisions: ReadonlyArray<unknown>
  readonly difference: Difference | undefined
}

const own: Deciders = { next, steer }

export const replay = (lines: ReadonlyArray<Line>, deciders: Deciders = own): Replayed => {
  const decisions: Array<unknown> = []
  let state: CoordinatorState | undefined
  for (const [index, line] of lines.entries()) {
    if (state === undefined && line._tag !== "Began") throw new Error("a log begins with `Began`")
    const before: CoordinatorState | undefined = state
    const differing = (what: string, expected: unknown, got: unknown): Replayed => ({
      decisions,
      difference: { line: index + 1, what, state: before === undefined ? "" : summaryOf(before), expected, got },
    })
    if (before !== undefined) {
      for (const { what, expected, decide } of decisionsAt(before, line, lines[index + 1], deciders)) {
        const got = plain(decide())
        if (!isDeepStrictEqual(got, expected)) return differing(what, expected, got)
        decisions.push(got)
      }
    }
    try {
      state = folded(before ?? nothing, line)
    } catch (error) {
      return differing("the change does not fit any more", line, String(error))
    }
  }
  return { decisions, difference: undefined }
}

/** `Began` does not look at what was before it. */
const nothing = {} as CoordinatorState

interface Decision {
  readonly what: string
  readonly expected: unknown
  readonly decide: () => unknown
}

const decisionsAt = (
  state: CoordinatorState,
  line: Line,
  following: Line | undefined,
  deciders: Deciders,
): ReadonlyArray<Decision> => {
  switch (line._tag) {
    case "Decided":
      return [
        { what: "the state is another one", expected: line.when, decide: () => summaryOf(state) },
        {
          what: "something else is to be done next",
          expected: line.actions,
          decide: () => deciders.next(state, line.now),
        },
      ]
    case "Asked":
      return steeringAt(state, line, following, deciders)
    case "Ended":
      return [{ what: "it ends in another state", expected: line.state, decide: () => state }]
    case "Began":
    case "Saw":
    case "TakenOver":
    case "Wrote":
      return []
  }
}

const steeringAt = (
  state: CoordinatorState,
  { directiveId, question }: LineOf<"Asked">,
  following: Line | undefined,
  deciders: Deciders,
): ReadonlyArray<Decision> => {
  if (following?._tag !== "Wrote" || following.change._tag !== "SteeringDecided") {
    throw new Error("`Asked` is followed by its answer")
  }
  const { change } = following
  const directive = state.directives.find((each) => each.directiveId === directiveId)
  return [
    {
      what: "steering is asked something else",
      expected: question,
      decide: () => (directive === undefined ? null : steeringAsk(state, directive)),
    },
    {
      what: "steering decides otherwise",
      expected: change,
      decide: () => steered(state, directiveId, deciders.steer(question), change.at)[0],
    },
  ]
}
