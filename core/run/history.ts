/** What an ended run's agents did, as a list: each event's place in it, without its payload. */
import { Effect } from "effect"
import { refuse } from "#core/refusal.ts"
import type { Run } from "#core/run/run.ts"
import type { SqlShape } from "#core/sql.ts"

export interface HistoryItem {
  /** `{runId}:{sequence}` */
  readonly id: string
  readonly type: string
  readonly timestamp: string
  readonly agent_id: string | null
  /** The call a tool's result belongs to; else the turn it happened in; null outside of a turn. */
  readonly parent_id: string | null
  /** True for what only mattered while it happened: chunks of text, heartbeats. */
  readonly ephemeral: boolean
}

/** An event as the history needs it. */
export interface HistoryEvent {
  readonly sequence: number
  readonly type: string
  readonly timestamp: string
  readonly callId: string | null
}

const ephemeralTypes: ReadonlySet<string> = new Set([
  "agent.message.delta",
  "tool.output",
  "tool.approval_pending",
  "tool.execution_pending",
  "sandbox.provisioning_pending",
  "coordinator.child_provisioning_pending",
])

export const historyOf = Effect.fnUntraced(function* (sql: SqlShape, run: Run) {
  const events = yield* sql<HistoryEvent>`
    select sequence, type, created_at as timestamp, payload ->> 'callId' as "callId"
      from events
     where run_id = ${run.runId}
     order by sequence`
  if (events.length === 0) {
    return yield* refuse("not_found", { message: "No persisted session found for this run." })
  }
  return historyItems(run, events)
})

export const historyItems = (
  run: Pick<Run, "runId" | "agentName">,
  events: ReadonlyArray<HistoryEvent>,
): ReadonlyArray<HistoryItem> => {
  const calls = new Map<string, string>()
  let turn: string | null = null
  return events.map(({ sequence, type, timestamp, callId }) => {
    const id = `${run.runId}:${sequence}`
    const call = callId === null ? undefined : calls.get(callId)
    if (type === "tool.call" && callId !== null) calls.set(callId, id)
    if (type === "agent.turn.start") turn = null
    const item = {
      id,
      type,
      timestamp,
      agent_id: run.agentName,
      parent_id: type === "tool.call" ? turn : (call ?? turn),
      ephemeral: ephemeralTypes.has(type),
    }
    if (type === "agent.turn.start") turn = id
    if (type === "agent.turn.end") turn = null
    return item
  })
}
