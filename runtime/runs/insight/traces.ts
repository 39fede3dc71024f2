/** The events of a run as spans: the run, its turns, its calls of tools. */
import { Effect, Schema } from "effect"
import type { SqlShape } from "#core/sql.ts"

const text = Schema.NullOr(Schema.String)
const count = Schema.NullOr(Schema.Int)

const Span = Schema.Struct({
  id: Schema.String,
  parentId: text,
  name: Schema.String,
  spanType: Schema.Literals(["run", "turn", "tool"]),
  timestamp: Schema.String,
  /** Null while it goes on. */
  durationMs: Schema.NullOr(Schema.Finite),
  success: Schema.NullOr(Schema.Boolean),
  resultCode: text,
  agentName: text,
  toolName: text,
  toolCallId: text,
  model: text,
  inputTokens: count,
  outputTokens: count,
  totalNanoAiu: count,
  operationName: text,
})
type Span = typeof Span.Type

export const RunTrace = Schema.Struct({ runId: Schema.String, spans: Schema.Array(Span) })

/** Spans that one answer holds; the rest of a longer run is left out. */
const maxSpans = 5_000

export interface TraceEvent {
  readonly type: string
  readonly timestamp: string
  readonly turnId: string | null
  readonly callId: string | null
  readonly toolName: string | null
  readonly model: string | null
  readonly inputTokens: number | null
  readonly outputTokens: number | null
  readonly totalNanoAiu: number | null
}

export interface TracedRun {
  readonly runId: string
  readonly agentName: string | null
  readonly status: string
  readonly startedAt: string
  readonly endedAt: string | null
}

const between = (from: string, to: string): number => Math.max(0, Date.parse(to) - Date.parse(from))

type Open = { -readonly [Key in keyof Span]: Span[Key] }

export const spansOf = (run: TracedRun, events: ReadonlyArray<TraceEvent>): ReadonlyArray<Span> => {
  const empty = {
    durationMs: null,
    success: null,
    resultCode: null,
    agentName: run.agentName,
    toolName: null,
    toolCallId: null,
    model: null,
    inputTokens: null,
    outputTokens: null,
    totalNanoAiu: null,
    operationName: null,
  }
  const root: Open = {
    ...empty,
    id: run.runId,
    parentId: null,
    name: "run",
    spanType: "run",
    timestamp: run.startedAt,
    durationMs: run.endedAt === null ? null : between(run.startedAt, run.endedAt),
    success: run.endedAt === null ? null : run.status !== "failed" && run.status !== "merge_failed",
    resultCode: run.status,
    operationName: "invoke_agent",
  }
  const spans: Array<Open> = [root]
  const calls = new Map<string, Open>()
  let turn: Open | undefined
  for (const event of events) {
    if (event.type === "agent.turn.start") {
      turn = {
        ...empty,
        id: event.turnId ?? `${run.runId}:${spans.length}`,
        parentId: run.runId,
        name: "turn",
        spanType: "turn",
        timestamp: event.timestamp,
        operationName: "chat",
      }
      spans.push(turn)
    } else if (event.type === "agent.turn.usage" && turn !== undefined) {
      turn.model = event.model
      turn.inputTokens = event.inputTokens
      turn.outputTokens = event.outputTokens
      turn.totalNanoAiu = event.totalNanoAiu
    } else if (event.type === "agent.turn.end" && turn !== undefined) {
      turn.durationMs = between(turn.timestamp, event.timestamp)
      turn.success = true
      turn = undefined
    } else if (event.type === "tool.call" && event.callId !== null) {
      const call: Open = {
        ...empty,
        id: `${run.runId}:${event.callId}`,
        parentId: turn?.id ?? run.runId,
        name: event.toolName ?? "tool",
        spanType: "tool",
        timestamp: event.timestamp,
        toolName: event.toolName,
        toolCallId: event.callId,
        operationName: "execute_tool",
      }
      calls.set(event.callId, call)
      spans.push(call)
    } else if ((event.type === "tool.result" || event.type === "tool.error") && event.callId !== null) {
      const call = calls.get(event.callId)
      if (call === undefined) continue
      call.durationMs = between(call.timestamp, event.timestamp)
      call.success = event.type === "tool.result"
      call.resultCode = call.success ? "ok" : "error"
    }
  }
  return spans.slice(0, maxSpans)
}

export const makeTraces = (sql: SqlShape) =>
  Effect.fn("insight.traces")(function* (runId: string) {
    const [run] = yield* sql<TracedRun>`
      select run_id as "runId", agent_name as "agentName", status, started_at as "startedAt", ended_at as "endedAt"
        from runs where run_id = ${runId}`
    if (run === undefined) return { runId, spans: [] }
    const events = yield* sql<TraceEvent>`
      select type, created_at as timestamp, payload ->> 'turnId' as "turnId", payload ->> 'callId' as "callId",
             payload ->> 'toolName' as "toolName", payload ->> 'modelId' as model,
             (payload ->> 'inputTokens')::float8 as "inputTokens", (payload ->> 'outputTokens')::float8 as "outputTokens",
             (payload ->> 'totalNanoAiu')::float8 as "totalNanoAiu"
        from events
       where run_id = ${runId}
         and type in ('agent.turn.start', 'agent.turn.end', 'agent.turn.usage', 'tool.call', 'tool.result', 'tool.error')
       order by sequence
       limit ${maxSpans * 3}`
    return { runId, spans: spansOf(run, events) }
  })
