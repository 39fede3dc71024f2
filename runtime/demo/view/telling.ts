/** The lines that stay: what happened, event by event, for people. Pure. */
import { Option, Schema } from "effect"
import type { Seen } from "#runtime/demo/stream.ts"
import { lineOf } from "#runtime/demo/view/clean.ts"
import { idsIn, numberIn, type Story, textIn } from "#runtime/demo/view/story.ts"

export interface Told {
  readonly text: string
  /** The tree shows it too, where there is one. */
  readonly inTree: boolean
}

/** Empty: nothing that a person waits for. `story` is how it stands after the event. */
export const tellingOf = (story: Story, event: Seen): ReadonlyArray<Told> => {
  const told = (text: string): ReadonlyArray<Told> => [{ text: lineOf(text, 400), inTree: false }]
  switch (event.type) {
    case "coordinator.outcome_spec":
      return textIn(event, "desiredOutcome") === textIn(event, "goal")
        ? []
        : told(`Outcome: ${textIn(event, "desiredOutcome")}`)
    case "coordinator.work_plan":
      return planLines(story)
    case "coordinator.assembly_started":
      return told(`The parts are put together on ${textIn(event, "integrationBranch")}`)
    case "coordinator.assembly_rai_completed":
      return told(`Responsible-AI review of the whole: ${textIn(event, "verdict")}`)
    case "coordinator.steering_received":
      return told(`${textIn(event, "source")} sends it back: ${textIn(event, "feedback")}`)
    case "coordinator.steering_decision":
      return told(
        `Steering decides: ${textIn(event, "decision")}, ${textIn(event, "rationale")}. ${onceMore(story, event)}`,
      )
    case "coordinator.assembly_gate_completed":
      return told(`${textIn(event, "gateKind")}: ${textIn(event, "verdict")}. ${textIn(event, "summary")}`)
    case "coordinator.assembly_merge_completed":
      return told(`Merged as ${textIn(event, "commitHash").slice(0, 12)}`)
    default:
      return event.type.startsWith("subtask.") ? [subtaskLine(story, event)] : []
  }
}

/** Nobody but a person can answer these; the script asks none. */
const questions: ReadonlySet<string> = new Set([
  "agent.question_asked",
  "shell.approval_required",
  "tool.approval_required",
])

/**
 * Of an agent at work, its commands and what it asks a person: the rest is for the tree. `story` is how it stood before
 * the event.
 */
export const tellingOfChild = (story: Story, childRunId: string, event: Seen): ReadonlyArray<Told> => {
  const row = story.rows.find((each) => each.childRunId === childRunId)
  if (row === undefined) return []
  const who = `  ${row.place} ${lineOf(row.title)}`
  if (event.type === "tool.exec_result") {
    return [{ text: `${who}: ${row.last}, exit code ${numberIn(event, "exit_code")}`, inTree: true }]
  }
  if (!questions.has(event.type)) return []
  const run = lineOf(childRunId)
  return [
    { text: `${who} waits for your answer (${event.type} of run ${run}); docs/approvals.md says how`, inTree: false },
  ]
}

const planLines = ({ rows }: Story): ReadonlyArray<Told> => {
  const places = new Map(rows.map(({ id, place }) => [id, place]))
  return [
    { text: `The plan has ${rows.length} subtasks:`, inTree: true },
    ...rows.map(({ place, title, agent, dependsOn }) => {
      const after = dependsOn.length === 0 ? "" : `, after ${dependsOn.map((id) => places.get(id)).join(", ")}`
      return { text: `  ${place} ${lineOf(title)} (${lineOf(agent)}${after})`, inTree: true }
    }),
  ]
}

/** Who does what once more: titles with the agents that have them now. */
const onceMore = ({ rows }: Story, event: Seen): string => {
  const ids = idsIn(event, "subtaskIds")
  const agents = new Map(assignmentsIn(event))
  const meant = rows.filter(({ id }) => ids.includes(id))
  if (meant.length === 0) return "Nothing is done once more."
  return `Once more: ${meant.map(({ id, title, agent }) => `${title} (${agents.get(id) ?? agent})`).join(", ")}`
}

const Assignments = Schema.Struct({
  assignments: Schema.Array(Schema.Struct({ subtaskId: Schema.Int, assignedAgent: Schema.String })),
})
const readAssignments = Schema.decodeUnknownOption(Assignments)

const assignmentsIn = ({ payload }: Seen): ReadonlyArray<readonly [subtaskId: number, agent: string]> =>
  Option.match(readAssignments(payload), {
    onNone: () => [],
    onSome: ({ assignments }) => assignments.map(({ subtaskId, assignedAgent }) => [subtaskId, assignedAgent] as const),
  })

const subtaskLine = ({ rows }: Story, event: Seen): Told => {
  const row = rows.find(({ id }) => id === numberIn(event, "subtaskId"))
  const attempt = row !== undefined && row.attempt > 1 ? `, try ${row.attempt}` : ""
  const state = event.type.slice("subtask.".length).replaceAll("_", " ")
  const text = `${row?.place ?? "?"} ${row?.title ?? ""}: ${state} (${textIn(event, "assignedAgent")}${attempt})`
  return { text: `  ${lineOf(text)}`, inTree: true }
}
