/** From what was recorded to the log: only one that gives its own decisions is one. */

import type { CoordinatorState } from "#runtime/coordinator/state.ts"
import { describeDifference } from "#test/golden/difference.ts"
import { linesOf } from "#test/golden/lines.ts"
import { folded, type Line } from "#test/golden/log.ts"
import type { Recorder } from "#test/golden/recorder.ts"
import { replay } from "#test/golden/replay.ts"
import { smallNumbers } from "#test/golden/small.ts"
import { summaryOf } from "#test/golden/summary.ts"

/** Throws where the log would not be decided as it was. */
export const recordingOf = (recorder: Pick<Recorder, "entriesOf">, runId: string): ReadonlyArray<Line> => {
  const lines = summedUp(smallNumbers(linesOf(recorder.entriesOf(runId))))
  const { difference } = replay(lines)
  if (difference !== undefined) throw new Error(describeDifference("The recording", difference))
  return lines
}

const summedUp = ([first, ...rest]: ReadonlyArray<Line>): ReadonlyArray<Line> => {
  if (first?._tag !== "Began") throw new Error("a log begins with `Began`")
  let state: CoordinatorState = first.state
  const lines = rest.map((line): Line => {
    state = folded(state, line)
    return line._tag === "Decided" ? { ...line, when: summaryOf(state) } : line
  })
  return [first, ...lines]
}
