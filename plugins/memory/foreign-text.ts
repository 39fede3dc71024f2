/**
 * Has the agent of a run been given what strangers wrote, or what other agents wrote and nobody vouched for? Known from
 * the tools in the run's log, from the messages that the run took, and from what the routes and tools here note. A tool
 * that is not known to stay in the house counts as one that looks outside.
 */
import { Effect } from "effect"
import type { EventLogShape } from "#core/event-log.ts"
import { effectivePolicy } from "#core/sandbox-policy/stored-policy.ts"
import type { SqlShape } from "#core/sql.ts"

/** Tools that give an agent the repository, the state of the project and what was vouched for, or note what they give. */
const houseTools: ReadonlySet<string> = new Set([
  ...[
    "read_file",
    "write_file",
    "create_file",
    "str_replace_editor",
    "apply_patch",
    "grep_search",
    "file_search",
    "glob",
  ],
  ...["report_intent", "report_outcome", "ask_question", "start_preview", "observe_bound_port"],
  ...["submit_decision", "submit_inbox_entry", "record_memory", "get_memory", "list_decisions", "update_session"],
  ...["list_inbox", "merge_inbox_entry", "export_memory"],
  ...["list_recipients", "send_message", "receive_message", "acknowledge_message", "list_messages"],
  ...["project_get", "project_list_runs", "backlog_capture_task", "backlog_get_board", "run_status"],
  ...["run_show_artifacts", "coordinator_work_plan_get", "coordinator_children_get", "orchestration_topology"],
])

/** Of the house where its commands reach no network. */
const shellTool = "run_command"

const callsPage = 1_000

interface Found {
  readonly found: boolean
}

export const makeForeignText = (sql: SqlShape, log: EventLogShape) => {
  const is = (rows: ReadonlyArray<Found>): boolean => rows[0]?.found === true

  const isNoted = (runId: string) =>
    Effect.map(sql<Found>`select exists (select from memory_foreign_reads where run_id = ${runId}) as found`, is)

  /** The plugin of messages may never have run here. */
  const hasMessages = Effect.map(sql<Found>`select to_regclass('messages_sent') is not null as found`, is)

  const tookMessage = Effect.fnUntraced(function* (runId: string) {
    if (!(yield* hasMessages)) return false
    // the fence grows with every claim: at 0 nobody has seen the message
    return is(
      yield* sql<Found>`
        select exists (select from messages_sent where target_run_id = ${runId} and fence > 0) as found`,
    )
  })

  const reachesNetwork = Effect.fnUntraced(function* (runId: string) {
    const [run] = yield* sql<{ readonly repository: string | null }>`
      select repository from runs where run_id = ${runId}`
    if (run === undefined || run.repository === null) return false
    const { policy } = yield* effectivePolicy(run.repository)
    return policy.networkEnabled || policy.direct
  })

  const calledOutside = Effect.fnUntraced(function* (runId: string) {
    let after = 0
    let shell = false
    for (;;) {
      const calls = yield* log.read(runId, { type: "tool.call", after, limit: callsPage })
      const last = calls.at(-1)
      if (last === undefined) return shell && (yield* reachesNetwork(runId))
      for (const { payload } of calls) {
        const { toolName }: { readonly toolName?: unknown } = JSON.parse(payload)
        if (toolName === shellTool) shell = true
        else if (typeof toolName !== "string" || !houseTools.has(toolName)) return true
      }
      after = last.sequence
    }
  })

  return {
    /** The agent of the run is about to be given such text. */
    note: (runId: string) => sql`insert into memory_foreign_reads (run_id) values (${runId}) on conflict do nothing`,

    wasGivenTo: Effect.fn("memory.foreignText")(function* (runId: string) {
      return (yield* isNoted(runId)) || (yield* tookMessage(runId)) || (yield* calledOutside(runId))
    }),
  }
}

export type ForeignText = ReturnType<typeof makeForeignText>
