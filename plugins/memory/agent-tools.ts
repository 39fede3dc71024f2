/**
 * The memory as tools of an agent, in this process. Who writes is known from the run. Stored text is given to the
 * model in the envelope of untrusted context, and what was given is noted: what the run writes later may come from it.
 */
import { Effect, Schema } from "effect"
import type { AgentRun, AgentToolSource } from "#core/agent-tools.ts"
import type { ProjectsShape } from "#core/project/projects.ts"
import { serviceTool } from "#core/service-tool.ts"
import { untrustedText } from "#core/untrusted-context.ts"
import type { ServiceTool } from "#core/wire/turn.ts"
import { decisionAnswer, inboxAnswer, memoryAnswer } from "#plugins/memory/answers.ts"
import { exportMemory } from "#plugins/memory/files/export.ts"
import type { Memory } from "#plugins/memory/memory.ts"
import { workingDirectoryOf } from "#plugins/memory/routes/files.ts"
import { decisionStatuses, decisionTypes, importances, memoryTypes } from "#plugins/memory/values.ts"

/** Rows that one call gives. */
const maxRows = 20
const newest = { limit: maxRows, offset: 0 }

/** Agents of the house that tend the memory; see also `AgentRun.coordinator`. */
const keepers: ReadonlySet<string> = new Set(["scribe", "rai"])

const maybe = Schema.optionalKey(Schema.String)
const proposal = {
  slug: Schema.String.annotate({ description: "Short name in kebab-case. The same again changes the proposal." }),
  type: Schema.Literals(decisionTypes),
  title: Schema.String,
  content: Schema.String,
  rationale: maybe,
}
const Proposal = Schema.Struct(proposal)
const RecordInput = Schema.Struct({
  type: Schema.Literals(memoryTypes),
  importance: Schema.Literals(importances),
  content: Schema.String,
  tags: Schema.optionalKey(Schema.String.annotate({ description: "Separated by commas." })),
})
const GetInput = Schema.Struct({ agent: maybe, tags: maybe, type: Schema.optionalKey(Schema.Literals(memoryTypes)) })
const ListInput = Schema.Struct({
  type: Schema.optionalKey(Schema.Literals(decisionTypes)),
  status: Schema.optionalKey(Schema.Literals(decisionStatuses)),
})
const SessionInput = Schema.Struct({ summary: Schema.String })
const InboxInput = Schema.Struct({ forAgent: maybe })
const MergeInput = Schema.Struct({ entryId: Schema.Int })
const Nothing = Schema.Struct({})

export const memoryTools = (memory: Memory, projects: ProjectsShape): AgentToolSource => {
  const { authors, foreignText, inbox, decisions, entries, sessions } = memory
  const folderOf = workingDirectoryOf(projects)
  const toFiles = exportMemory(memory)

  const forAll = (run: AgentRun, projectId: string): ReadonlyArray<ServiceTool> => {
    const author = authors.ofRun(run)
    const propose = (name: string, description: string) =>
      serviceTool(name, description, Proposal, (input) =>
        Effect.gen(function* () {
          const { entry } = yield* inbox.submit(projectId, input, yield* author)
          return `Proposed as ${entry.slug} (entry ${entry.id}). A person decides on it.`
        }),
      )
    return [
      propose("submit_decision", "Proposes a decision of the project, for people to decide on."),
      ...(isKeeper(run) ? [propose("submit_inbox_entry", "Puts an entry into the decision inbox.")] : []),
      serviceTool(
        "record_memory",
        "Keeps what you learned for your later turns, and, once people have approved it, for other agents (tag cross-team).",
        RecordInput,
        (input) =>
          Effect.gen(function* () {
            const entry = yield* entries.record(projectId, input, yield* author)
            return `Kept as memory ${entry.id}${entry.trust === 0 ? "; it waits for a person's approval" : ""}.`
          }),
      ),
      serviceTool("get_memory", "Finds memories of this project, newest first.", GetInput, ({ agent, tags, type }) =>
        Effect.gen(function* () {
          const wanted = tags?.split(",").flatMap((tag) => (tag.trim() === "" ? [] : [tag.trim()]))
          const rows = yield* entries.list(projectId, { agentName: agent, type, tags: wanted }, newest)
          yield* entries.noteReads(
            run.runId,
            rows.map(({ id }) => id),
          )
          return untrustedText({ memories: rows.map(memoryAnswer) })
        }),
      ),
      serviceTool("list_decisions", "Lists decisions of this project, newest first.", ListInput, ({ type, status }) =>
        Effect.gen(function* () {
          const rows = yield* decisions.list(projectId, { type, status: status ?? "active", approved: true }, newest)
          return untrustedText({ decisions: rows.map(decisionAnswer) })
        }),
      ),
      serviceTool("update_session", "Sums up where the project's work stands.", SessionInput, ({ summary }) =>
        Effect.gen(function* () {
          yield* sessions.changeOpen(projectId, { summary }, yield* author)
          return "The session's summary is set."
        }),
      ),
    ]
  }

  const forKeepers = (run: AgentRun, projectId: string): ReadonlyArray<ServiceTool> => [
    serviceTool("list_inbox", "Lists pending entries of the decision inbox.", InboxInput, ({ forAgent }) =>
      Effect.gen(function* () {
        const rows = yield* inbox.list(projectId, { status: "pending", agentName: forAgent }, newest)
        if (rows.some(({ sourceRunId }) => sourceRunId !== run.runId)) yield* foreignText.note(run.runId)
        return untrustedText({ inbox: rows.map(inboxAnswer) })
      }),
    ),
    serviceTool("export_memory", "Writes the memory to files of the repository.", Nothing, () =>
      Effect.gen(function* () {
        const count = yield* toFiles(projectId, yield* folderOf(projectId))
        return `Written: ${count.decisions} decisions, ${count.inbox} inbox entries, ${count.memories} memories.`
      }),
    ),
    // only a verified coordinator decides; what it merges waits for a person's approval
    ...(run.coordinator
      ? [
          serviceTool("merge_inbox_entry", "Makes a decision of a pending entry.", MergeInput, ({ entryId }) =>
            Effect.gen(function* () {
              const merged = yield* inbox.merge(projectId, entryId, yield* authors.ofRun(run))
              return `Entry ${merged.id} is decision ${merged.decisionId}; it waits for a person's approval.`
            }),
          ),
        ]
      : []),
  ]

  return (run) => {
    const { projectId, agentName } = run
    // a run without an agent has nobody who could write
    if (projectId === null || agentName === null) return []
    return [...forAll(run, projectId), ...(isKeeper(run) ? forKeepers(run, projectId) : [])]
  }
}

const isKeeper = ({ agentName, coordinator }: AgentRun): boolean =>
  coordinator || keepers.has(agentName?.toLowerCase() ?? "")
