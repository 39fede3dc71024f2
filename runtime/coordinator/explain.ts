/**
 * Why the coordinator did what it did: the events that an event follows from, found in the log alone. Nothing is
 * guessed: what is not recorded is not said.
 */
import type { StoredEvent } from "#core/event.ts"

export interface Explained {
  readonly sequence: number
  readonly type: string
  readonly payload: Readonly<Record<string, unknown>>
}

export interface Explanation {
  /** The event that is explained: the one at the sequence asked for, or the last of the coordinator before it. */
  readonly event: Explained
  /** What it follows from, oldest first. */
  readonly because: ReadonlyArray<Explained>
}

type Log = ReadonlyArray<Explained>
type Causes = (event: Explained, before: Log) => ReadonlyArray<Explained | undefined>

/** Undefined: the coordinator had not done anything by then. */
export const explain = (events: ReadonlyArray<StoredEvent>, sequence: number): Explanation | undefined => {
  const log = events.filter((event) => event.sequence <= sequence).map(read)
  const event = log.findLast(({ type }) => type in causes)
  if (event === undefined) return undefined
  const before = log.filter((each) => each.sequence < event.sequence)
  const found = causes[event.type]?.(event, before) ?? []
  const because = [...new Set(found)].filter((each): each is Explained => each !== undefined)
  return { event, because: because.sort((a, b) => a.sequence - b.sequence) }
}

const read = ({ sequence, type, payload }: StoredEvent): Explained => {
  const decoded: unknown = JSON.parse(payload)
  return { sequence, type, payload: isRecord(decoded) ? decoded : {} }
}

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value)

const last = (log: Log, types: ReadonlyArray<string>, holds: (payload: Explained["payload"]) => boolean = () => true) =>
  log.findLast(({ type, payload }) => types.includes(type) && holds(payload))

const listOf = (value: unknown): ReadonlyArray<unknown> => (Array.isArray(value) ? value : [])

/** The signal of a directive, and the policy's own record of what it decided on it. */
const signalOf: Causes = ({ payload }, before) => [
  last(before, ["coordinator.steering_received"], (each) => each.directiveId === payload.directiveId),
]

const decisionOf: Causes = (event, before) => [
  ...signalOf(event, before),
  last(before, ["coordinator.steering_decision"], (each) => each.directiveId === event.payload.directiveId),
]

/** The end of each subtask that this one waited for. */
const prerequisites: Causes = ({ payload }, before) => {
  const plan = last(before, ["coordinator.work_plan"])
  const edges = listOf(plan?.payload.dependencies).filter(isRecord)
  const ends = ["subtask.assemble_ready", "subtask.completed"]
  return edges
    .filter((edge) => edge.subtaskId === payload.subtaskId)
    .map((edge) => last(before, ends, (each) => each.subtaskId === edge.dependsOnSubtaskId))
}

const dispatched: Causes = (event, before) => {
  const { subtaskId, reason } = event.payload
  const plan = last(before, ["coordinator.work_plan"])
  const about = (payload: Explained["payload"]) => payload.subtaskId === subtaskId
  const names = (payload: Explained["payload"]) => listOf(payload.subtaskIds).includes(subtaskId)
  switch (reason) {
    case "stall_redispatch":
      return [
        last(before, ["coordinator.child_stall_detected"], about),
        last(before, ["coordinator.subtask_redispatched"], about),
      ]
    case "steering": {
      const decision = last(before, ["coordinator.steering_decision"], names)
      return decision === undefined ? [] : [...signalOf(decision, before), decision]
    }
    case "rearmed":
      return [last(before, ["coordinator.recovered"], ({ recoveredBy }) => recoveredBy !== undefined)]
    default:
      return [plan, ...prerequisites(event, before)]
  }
}

const endsOfSubtasks: Causes = (_, before) => {
  const plan = last(before, ["coordinator.work_plan"])
  const ends = ["subtask.assemble_ready", "subtask.completed", "subtask.failed", "subtask.rai_flagged"]
  return listOf(plan?.payload.subtasks)
    .filter(isRecord)
    .map((subtask) => last(before, ends, (each) => each.subtaskId === subtask.id))
}

const latest =
  (...types: ReadonlyArray<string>): Causes =>
  (_, before) =>
    types.map((type) => last(before, [type]))

/** What the gates came to, and, where a person is asked before they are through, the decision to ask. */
const reviewed: Causes = (event, before) => [
  last(before, ["coordinator.assembly_started"]),
  last(before, ["coordinator.assembly_rai_completed"]),
  last(before, ["coordinator.assembly_gate_completed"]),
  ...(event.payload.reason === undefined ? [] : [last(before, ["coordinator.steering_decision"])]),
]

const causes: Readonly<Record<string, Causes>> = {
  "coordinator.outcome_spec": latest("coordinator.started", "coordinator.outcome_spec.revised"),
  "coordinator.outcome_spec.confirmed": latest("coordinator.outcome_spec"),
  "coordinator.work_plan": latest(
    "coordinator.outcome_spec.confirmed",
    "coordinator.workflow_selected",
    "coordinator.decomposition_adjusted",
  ),
  "subtask.dispatched": dispatched,
  "coordinator.subtask_redispatched": ({ payload }, before) => [
    last(before, ["coordinator.child_stall_detected"], (each) => each.subtaskId === payload.subtaskId),
  ],
  "coordinator.autopilot_answered": ({ payload }, before) => [
    last(before, ["coordinator.child_question"], (each) => each.requestId === payload.requestId),
  ],
  "coordinator.children_complete": endsOfSubtasks,
  "coordinator.assembly_started": latest("coordinator.children_complete"),
  "coordinator.integration_conflict_auto_resolved": latest("coordinator.assembly_started"),
  "coordinator.assembly_blocked": (event, before) => [
    ...endsOfSubtasks(event, before),
    last(before, ["coordinator.assembly_review_requested"]),
  ],
  "coordinator.steering_decision": signalOf,
  "coordinator.assembly_changes_requested": latest("coordinator.steering_received", "coordinator.steering_decision"),
  "coordinator.steering": decisionOf,
  "coordinator.assembly_review_requested": reviewed,
  "coordinator.assembly_merge_started": latest("coordinator.assembly_review_approved"),
  "coordinator.assembly_merge_completed": latest(
    "coordinator.assembly_review_approved",
    "coordinator.assembly_merge_started",
  ),
  "coordinator.assembly_merge_failed": latest("coordinator.assembly_merge_started", "merge.conflicted"),
  "run.rai_blocked": latest("coordinator.assembly_rai_started", "coordinator.assembly_rai_completed"),
  "coordinator.assembly_completed": latest("coordinator.assembly_merge_completed"),
}
