/** The MCP tools of the memory: names for its routes. */
import { type Place, type Tool, toolFor } from "#core/tool.ts"
import type { decisionRoutes } from "#plugins/memory/routes/decisions.ts"
import type { entryRoutes } from "#plugins/memory/routes/entries.ts"
import type { fileRoutes } from "#plugins/memory/routes/files.ts"
import type { inboxRoutes } from "#plugins/memory/routes/inbox.ts"
import type { sessionRoutes } from "#plugins/memory/routes/sessions.ts"

export interface MemoryRoutes {
  readonly inbox: ReturnType<typeof inboxRoutes>
  readonly decisions: ReturnType<typeof decisionRoutes>
  readonly entries: ReturnType<typeof entryRoutes>
  readonly sessions: ReturnType<typeof sessionRoutes>
  readonly files: ReturnType<typeof fileRoutes>
}

const path = (name: string): Place => ({ in: "path", name })
const project = { project_id: path("id") }
const entry = { ...project, entry_id: path("entryId") }
const decision = { ...project, decision_id: path("decisionId") }
const agent = { ...project, agent_name: path("name") }
const memory = { ...agent, memory_id: path("memId") }

export const memoryMcpTools = ({ inbox, decisions, entries, sessions, files }: MemoryRoutes): ReadonlyArray<Tool> => [
  toolFor(inbox.submit, {
    name: "decision_inbox_submit",
    description: "Proposes a decision of the project. The same slug again changes the proposal while it is pending.",
    parameters: project,
  }),
  toolFor(inbox.submit, {
    name: "squad_decide",
    description: "Another name of decision_inbox_submit.",
    parameters: project,
  }),
  toolFor(inbox.list, {
    name: "decision_inbox_list",
    description: "Lists proposed decisions of the project; the pending ones, unless another status is asked for.",
    parameters: project,
  }),
  toolFor(inbox.merge, {
    name: "decision_inbox_merge",
    description: "Makes a decision of a pending proposal. For owners.",
    parameters: entry,
  }),
  toolFor(inbox.reject, {
    name: "decision_inbox_reject",
    description: "Rejects a pending proposal. For owners.",
    parameters: entry,
  }),
  toolFor(decisions.create, {
    name: "decision_create",
    description: "Takes a decision of the project. For owners.",
    parameters: project,
  }),
  toolFor(decisions.list, {
    name: "decision_list",
    description: "Lists the decisions of the project.",
    parameters: project,
  }),
  toolFor(decisions.update, {
    name: "decision_update",
    description: "Changes a decision, or lets another one supersede it. For owners.",
    parameters: decision,
  }),
  toolFor(entries.record, {
    name: "memory_record",
    description: "Adds to the memory of an agent.",
    parameters: agent,
  }),
  toolFor(entries.list, { name: "memory_list", description: "Lists the memories of an agent.", parameters: agent }),
  toolFor(entries.get, { name: "memory_get", description: "Gives one memory of an agent.", parameters: memory }),
  toolFor(entries.search, {
    name: "memory_search",
    description: "Finds memories of all agents of the project, by type or by any of some tags.",
    parameters: project,
  }),
  toolFor(sessions.start, {
    name: "session_start",
    description: "Starts a session of the project; one that is open ends.",
    parameters: project,
  }),
  toolFor(sessions.current, {
    name: "session_current",
    description: "Gives the open session of the project.",
    parameters: project,
  }),
  toolFor(sessions.updateCurrent, {
    name: "session_update",
    description: "Changes or ends the open session of the project.",
    parameters: project,
  }),
  toolFor(files.exporting, {
    name: "memory_export",
    description: "Writes the memory of the project to files of its repository.",
    parameters: project,
  }),
  toolFor(files.importing, {
    name: "memory_import",
    description: "Reads the memory of the project from files of its repository.",
    parameters: project,
  }),
]
