/** The lines that stay: what happened, event by event, for people. Pure. */
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
  const told = (text: string, inTree = false): ReadonlyArray<Told> => [{ text: lineOf(text, 400), inTree }]
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
        `Steering decides ${textIn(event, "decision")} (${textIn(event, "rationale")}): ${titlesOf(story, event)}`,
      )
    case "coordinator.assembly_gate_completed":
      return told(`${textIn(event, "gateKind")}: ${textIn(event, "verdict")}. ${textIn(event, "summary")}`)
    case "coordinator.assembly_merge_completed":
      return told(`Merged as ${textIn(event, "commitHash").slice(0, 12)}`)
    case "agent.question_asked":
    case "tool.approval_required":
    case "shell.approval_required":
      return told("An agent waits for a person's answer: see /docs of the service, and docs/approvals.md")
    default:
      return event.type.startsWith("subtask.") ? told(subtaskLine(story, event), true) : []
  }
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

const titlesOf = ({ rows }: Story, event: Seen): string => {
  const ids = idsIn(event, "subtaskIds")
  const meant = rows.filter(({ id }) => ids.includes(id)).map(({ title }) => title)
  return meant.length === 0 ? "nothing is done again" : meant.join(", ")
}

const subtaskLine = ({ rows }: Story, event: Seen): string => {
  const row = rows.find(({ id }) => id === numberIn(event, "subtaskId"))
  const attempt = row !== undefined && row.attempt > 1 ? `, try ${row.attempt}` : ""
  const state = event.type.slice("subtask.".length).replaceAll("_", " ")
  return `  ${row?.place ?? "?"} ${row?.title ?? ""}: ${state} (${textIn(event, "assignedAgent")}${attempt})`
}
