/** What happens on a stage, in words. */
import type { RunCommand } from "#core/run/command.ts"
import { type SteerCommand, steer } from "#runtime/coordinator/command/steer.ts"
import { type ReviewDecision, reviewAssembly } from "#runtime/coordinator/command.ts"
import type { GateAnswer } from "#runtime/coordinator/outcome.ts"
import type { CoordinatorState } from "#runtime/coordinator/state.ts"
import type { Stage } from "#test/golden/staged/stage.ts"

export const begins: RunCommand = { _tag: "Start", worktreePath: null, worktreeBranch: null }

export const isReady: RunCommand = {
  _tag: "AssembleReady",
  treeHash: "tree",
  worktreeBranch: null,
  diff: null,
  hasChanges: true,
  raiSafetyFlagged: false,
}

export const fails = (errorCode: string, retryable: boolean): RunCommand => ({
  _tag: "Fail",
  message: "It did not work.",
  errorCode,
  retryable,
})

type Decide = Parameters<Stage["person"]>[0]

const reviewed =
  (decision: Partial<ReviewDecision>): Decide =>
  (state, stamp) =>
    reviewAssembly(
      state,
      { approved: false, requestChanges: false, feedback: "", targetFiles: null, by: "ada", ...decision },
      stamp,
    )

export const approves = reviewed({ approved: true })

export const declines = reviewed({ feedback: "not now" })

export const wants = (feedback: string, targetFiles: ReadonlyArray<string> | null = null) =>
  reviewed({ requestChanges: true, feedback, targetFiles })

export const steers =
  (kind: SteerCommand["kind"], instruction: string, part?: number): Decide =>
  (state, stamp) =>
    steer(state, { kind, instruction, by: "ada", targetChildRunId: childOfPart(state, part) }, stamp)

const childOfPart = ({ plan }: CoordinatorState, part: number | undefined): string | null =>
  part === undefined ? null : (plan?.subtasks[part - 1]?.attempts.at(-1)?.childRunId ?? null)

export const passes: GateAnswer = { _tag: "Passed", verdict: "green", summary: "" }

export const rejects = (summary: string, ...targetFiles: ReadonlyArray<string>): GateAnswer => ({
  _tag: "Rejected",
  verdict: "revise",
  summary,
  severity: "request-changes",
  targetFiles: targetFiles.length === 0 ? null : targetFiles,
})

/** The answers of one gate, in order; after the last one, and of every other gate, it passes. */
export const answers = (asked: string, ...given: ReadonlyArray<GateAnswer>) => {
  const left = [...given]
  return (gate: string): GateAnswer => (gate === asked ? (left.shift() ?? passes) : passes)
}
