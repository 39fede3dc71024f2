/** What is known of an orchestration from its events: the plan as it stands, and the stages after it. Pure. */
import { Option, Schema } from "effect"
import type { Seen } from "#runtime/demo/stream.ts"

export const stages = ["rai", "build-test", "rubberduck", "human-review", "merge"] as const
export type Stage = (typeof stages)[number]
export type StageState = "waits" | "runs" | "passed" | "rejected"

export interface Row {
  readonly id: number
  /** From 1, in the order of the plan. */
  readonly place: number
  readonly title: string
  readonly agent: string
  readonly dependsOn: ReadonlyArray<number>
  readonly status: string
  readonly attempt: number
  readonly childRunId: string | null
  /** The last that was seen of its child. */
  readonly last: string
}

export type End =
  | { readonly _tag: "Merged" }
  | { readonly _tag: "Declined" }
  /** It has failed, or waits for something that the demo does not do. */
  | { readonly _tag: "Stuck"; readonly reason: string }

export interface Story {
  readonly phase: string
  readonly rows: ReadonlyArray<Row>
  readonly stages: Readonly<Partial<Record<Stage, StageState>>>
  /** Events that were seen, of all runs. */
  readonly events: number
  /** A person is asked to review the whole. */
  readonly inReview: boolean
  readonly end: End | null
}

export const beginning: Story = {
  phase: "The coordinator reads the goal",
  rows: [],
  stages: {},
  events: 0,
  inReview: false,
  end: null,
}

const Planned = Schema.Struct({
  subtasks: Schema.Array(
    Schema.Struct({
      id: Schema.Int,
      title: Schema.String,
      assignedAgent: Schema.String,
      dependsOn: Schema.Array(Schema.Int),
    }),
  ),
})
const readPlanned = Schema.decodeUnknownOption(Planned)

/** A text of the payload; empty where there is none. */
export const textIn = ({ payload }: Seen, name: string): string => {
  const value = payload[name]
  return typeof value === "string" ? value : ""
}

export const numberIn = ({ payload }: Seen, name: string): number | undefined => {
  const value = payload[name]
  return typeof value === "number" ? value : undefined
}

/** Numbers of a list in the payload. */
export const idsIn = ({ payload }: Seen, name: string): ReadonlyArray<number> => {
  const value = payload[name]
  return Array.isArray(value) ? value.filter((each): each is number => typeof each === "number") : []
}

const inState = (story: Story, stage: Stage, state: StageState): Story => ({
  ...story,
  stages: { ...story.stages, [stage]: state },
})

const stageOf = (kind: string): Stage | undefined => stages.find((stage) => stage === kind)

/** After an event of the coordinator's run. */
export const evolve = (before: Story, event: Seen): Story => {
  const story = { ...before, events: before.events + 1 }
  switch (event.type) {
    case "coordinator.outcome_spec":
      return { ...story, phase: "The outcome is written down" }
    case "coordinator.outcome_spec.confirmed":
      return { ...story, phase: "The coordinator plans the work" }
    case "coordinator.work_plan":
      return { ...story, phase: "Agents work on the subtasks", rows: rowsOf(event) }
    case "coordinator.assembly_started":
      return { ...story, phase: "The parts are put together", stages: {} }
    case "coordinator.assembly_rai_started":
      return inState({ ...story, phase: "Responsible-AI review of the whole" }, "rai", "runs")
    case "coordinator.assembly_rai_completed":
      return inState(story, "rai", event.payload.raiSafetyFlagged === true ? "rejected" : "passed")
    case "coordinator.assembly_review_requested":
      return gateOpened(story, event)
    case "coordinator.assembly_gate_completed":
      return gateClosed(story, event)
    case "coordinator.steering_decision":
      return { ...story, phase: "Work is sent back to its subtasks", inReview: false }
    case "coordinator.assembly_review_approved":
      return inState({ ...story, inReview: false, phase: "The change is merged" }, "human-review", "passed")
    case "coordinator.assembly_merge_started":
      return inState(story, "merge", "runs")
    case "coordinator.assembly_merge_completed":
      return inState(story, "merge", "passed")
    case "coordinator.assembly_completed":
      return { ...story, phase: "Done", end: { _tag: "Merged" } }
    case "coordinator.assembly_declined":
      return { ...story, phase: "Declined", inReview: false, end: { _tag: "Declined" } }
    case "coordinator.assembly_merge_failed":
    case "coordinator.assembly_blocked":
    case "coordinator.assembly_failed":
    case "run.rai_blocked":
    case "run.failed":
    case "run.cancelled":
      return { ...story, phase: "It cannot go on", end: { _tag: "Stuck", reason: reasonIn(event) } }
    default:
      return event.type.startsWith("subtask.") ? moved(story, event) : story
  }
}

const reasonIn = (event: Seen): string =>
  [textIn(event, "message"), textIn(event, "reason"), textIn(event, "detail")]
    .filter((text) => text !== "")
    .join(": ") || event.type

const rowsOf = (event: Seen): ReadonlyArray<Row> =>
  Option.match(readPlanned(event.payload), {
    onNone: () => [],
    onSome: ({ subtasks }) =>
      subtasks.map(({ id, title, assignedAgent, dependsOn }, index) => ({
        ...{ id, place: index + 1, title, agent: assignedAgent, dependsOn },
        ...{ status: "pending", attempt: 1, childRunId: null, last: "" },
      })),
  })

const gateOpened = (story: Story, event: Seen): Story => {
  const stage = stageOf(textIn(event, "gateKind"))
  if (stage === undefined) return story
  return stage === "human-review"
    ? inState({ ...story, phase: "A person reviews the whole", inReview: true }, stage, "runs")
    : inState({ ...story, phase: stage === "build-test" ? "Build & Test" : "Critique" }, stage, "runs")
}

const rejections: ReadonlySet<string> = new Set(["request_changes", "REQUEST_CHANGES", "revise", "rejected", "failed"])

const gateClosed = (story: Story, event: Seen): Story => {
  const stage = stageOf(textIn(event, "gateKind"))
  if (stage === undefined) return story
  return inState(story, stage, rejections.has(textIn(event, "verdict")) ? "rejected" : "passed")
}

const moved = (story: Story, event: Seen): Story => ({
  ...story,
  rows: story.rows.map((row) =>
    row.id === numberIn(event, "subtaskId")
      ? {
          ...row,
          status: textIn(event, "status") || row.status,
          agent: textIn(event, "assignedAgent") || row.agent,
          attempt: numberIn(event, "attempt") ?? row.attempt,
          childRunId: textIn(event, "childRunId") || row.childRunId,
          last: event.type === "subtask.dispatched" ? "" : row.last,
        }
      : row,
  ),
})
