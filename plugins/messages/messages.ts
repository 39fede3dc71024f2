/**
 * Messages between agents of one project. Who sends and who receives is known from their runs. `accepted` means kept,
 * not delivered; what is delivered may be delivered again after a crash; what is acknowledged is so once.
 */
import { Clock, Effect } from "effect"
import type { AgentRun } from "#core/agent-tools.ts"
import { isId, newId } from "#core/ids.ts"
import type { ProjectsShape } from "#core/project/projects.ts"
import { redact } from "#core/redaction.ts"
import { refuse } from "#core/refusal.ts"
import type { SqlShape } from "#core/sql.ts"
import { defaultLife, isSame, readSend, type SendInput } from "#plugins/messages/send.ts"
import { type Message, type MessageFilter, makeMessageStore, mayRead } from "#plugins/messages/store.ts"
import { retiredMembers } from "#plugins/messages/team.ts"

/** An agent of a project: only such a one has messages. */
export type Correspondent = AgentRun & { readonly projectId: string }

const maxOwner = 128
const notFound = refuse("not_found", { message: "There is no such message in this project." })

const isoOf = (millis: number): string => new Date(millis).toISOString()
const now = Effect.map(Clock.currentTimeMillis, isoOf)

interface TargetRow {
  readonly agentName: string | null
}

export const makeMessages = (sql: SqlShape, projects: ProjectsShape) => {
  const store = makeMessageStore(sql)

  const retiredOf = Effect.fnUntraced(function* (projectId: string) {
    const { workingDirectory, available } = yield* projects.get(projectId)
    return available ? yield* retiredMembers(workingDirectory) : []
  })

  /** The state of messages as it is now: nothing else looks at the time. */
  const settle = Effect.fnUntraced(function* (projectId: string) {
    yield* store.settle(projectId, yield* retiredOf(projectId), yield* now)
  })

  /** The agent of a run that runs, in that project. */
  const running = (projectId: string, runId: string) =>
    Effect.map(
      sql<TargetRow>`
        select agent_name as "agentName" from runs
         where run_id = ${runId} and project_id = ${projectId} and ended_at is null and archived_at is null`,
      (rows) => rows[0],
    )

  const get = Effect.fnUntraced(function* (projectId: string, id: string) {
    if (!isId(id)) return yield* notFound
    return (yield* store.find(projectId, id)) ?? (yield* notFound)
  })

  /** A message for this run, whatever its state. */
  const received = Effect.fnUntraced(function* (run: Correspondent, id: string) {
    const message = yield* get(run.projectId, id)
    return message.targetRunId === run.runId ? message : yield* refuse("recipient_run_required")
  })

  const threadOf = Effect.fnUntraced(function* (run: Correspondent, replyToId: string) {
    const original = yield* store.find(run.projectId, replyToId)
    const mayReply =
      original?.status === "acknowledged" && original.recipient === run.agentName && original.targetRunId === run.runId
    return original !== undefined && mayReply ? original.threadId : yield* refuse("reply_unavailable")
  })

  const send = Effect.fn("messages.send")(function* (run: Correspondent, input: SendInput) {
    const sender = run.agentName ?? (yield* refuse("run_unavailable", { message: "The source run has no agent." }))
    const content = redact(input.content)
    const sent = yield* store.byKey(run.runId, input.idempotency_key)
    if (sent !== undefined) {
      return yield* isSame(sent, { ...input, content }) ? get(run.projectId, sent.id) : refuse("idempotency_conflict")
    }
    const at = yield* Clock.currentTimeMillis
    const asked = yield* Effect.fromResult(readSend({ ...input, content }, at))
    if ((yield* running(run.projectId, run.runId)) === undefined) return yield* refuse("run_unavailable")
    const target = yield* running(run.projectId, asked.targetRunId)
    if (target === undefined) return yield* refuse("target_not_running")
    const retired = yield* retiredOf(run.projectId)
    if (target.agentName !== asked.recipient || retired.includes(asked.recipient)) {
      return yield* refuse("recipient_unavailable")
    }
    const id = newId()
    const threadId = asked.replyToId === null ? id : yield* threadOf(run, asked.replyToId)
    const source = { sourceRunId: run.runId, sender, senderIdentity: `run:${run.runId}`, projectId: run.projectId }
    const inserted = yield* store.insert({ ...asked, ...source, id, threadId }, isoOf(at))
    if (inserted !== undefined) return inserted
    // another send of this key was first
    const first = yield* store.byKey(run.runId, input.idempotency_key)
    return yield* first !== undefined && isSame(first, { ...input, content })
      ? get(run.projectId, first.id)
      : refuse("idempotency_conflict")
  })

  return {
    send,

    list: Effect.fn("messages.list")(function* (projectId: string, filter: MessageFilter) {
      yield* settle(projectId)
      return yield* store.list(projectId, filter)
    }),

    /** `reader`: the run whose agent asks; undefined where a person does. */
    get: Effect.fn("messages.get")(function* (projectId: string, id: string, reader?: string) {
      yield* settle(projectId)
      const message = yield* get(projectId, id)
      return reader === undefined || mayRead(message, reader) ? message : yield* notFound
    }),

    /** Undefined where no message waits. */
    claim: Effect.fn("messages.claim")(function* (run: Correspondent, owner: string) {
      if (owner.trim() === "" || owner.length > maxOwner || /\p{Cc}/u.test(owner) || !owner.isWellFormed()) {
        return yield* refuse("invalid_claim_owner")
      }
      yield* settle(run.projectId)
      return yield* store.claim(run.projectId, run.runId, owner, yield* now)
    }),

    /** The same delivery again is the one of before. */
    deliver: Effect.fn("messages.deliver")(function* (
      run: Correspondent,
      id: string,
      claim: { readonly owner: string; readonly fence: number },
    ) {
      const before = yield* received(run, id)
      const delivered = yield* store.deliver(before.id, claim, yield* now)
      if (delivered !== undefined) return delivered
      yield* settle(run.projectId)
      const current = yield* get(run.projectId, id)
      const done = current.status === "delivered" || current.status === "acknowledged"
      if (done && current.claimOwner === claim.owner && current.fence === claim.fence) return current
      return yield* refuse(isOver(current) ? "message_unavailable" : "claim_lost")
    }),

    acknowledge: Effect.fn("messages.acknowledge")(function* (run: Correspondent, id: string) {
      const before = yield* received(run, id)
      yield* settle(run.projectId)
      const acknowledged = yield* store.acknowledge(before.id, yield* now)
      if (acknowledged !== undefined) return acknowledged
      const current = yield* get(run.projectId, id)
      if (current.status === "acknowledged") return current
      return yield* refuse(isOver(current) ? "message_unavailable" : "message_not_delivered")
    }),

    /** A message that could not be received, sent again as it is. `by`: a run may do so with its own messages only. */
    retry: Effect.fn("messages.retry")(function* (projectId: string, id: string, by: AgentRun | null) {
      yield* settle(projectId)
      const message = yield* get(projectId, id)
      if (by !== null && by.runId !== message.sourceRunId) {
        return yield* refuse("forbidden", { message: "A run may retry its own messages only." })
      }
      if (!isOver(message)) return yield* refuse("message_unavailable")
      const target = yield* running(projectId, message.targetRunId)
      if (target === undefined) return yield* refuse("target_not_running")
      if ((yield* retiredOf(projectId)).includes(message.recipient)) return yield* refuse("recipient_unavailable")
      const expiresAt = isoOf((yield* Clock.currentTimeMillis) + defaultLife)
      return (yield* store.reopen(message.id, expiresAt)) ?? (yield* refuse("message_unavailable"))
    }),

    /** Agents of running runs of the project, to whom a message can be sent. */
    recipients: (projectId: string) => sql<{ readonly agent: string; readonly run_id: string }>`
      select agent_name as agent, run_id from runs
       where project_id = ${projectId} and ended_at is null and archived_at is null and agent_name is not null
       order by started_at desc limit 100`,
  }
}

const isOver = ({ status }: Message): boolean => status === "expired" || status === "undeliverable"

export type Messages = ReturnType<typeof makeMessages>
