/**
 * The table `messages_sent`. A message is leased to whoever claims it, delivered by the owner of its latest claim alone
 * (the fence says which that is), and acknowledged once. Every statement decides by itself; the time is given.
 */
import { Effect } from "effect"
import type { Fragment, SqlShape } from "#core/sql.ts"

export const messageStatuses = ["accepted", "claimed", "delivered", "acknowledged", "expired", "undeliverable"] as const
export type MessageStatus = (typeof messageStatuses)[number]

export const failureReasons = ["ttl_elapsed", "recipient_retired", "target_completed", "target_cancelled"] as const
export type FailureReason = (typeof failureReasons)[number]

export const referenceKinds = ["backlog_task", "work_plan", "finding"] as const
export type ReferenceKind = (typeof referenceKinds)[number]

export interface Message {
  readonly id: string
  readonly projectId: string
  readonly sender: string
  readonly senderIdentity: string
  readonly recipient: string
  readonly sourceRunId: string
  readonly targetRunId: string
  readonly threadId: string
  readonly replyToId: string | null
  readonly referenceKind: ReferenceKind | null
  readonly referenceId: string | null
  readonly idempotencyKey: string
  readonly content: string
  readonly createdAt: string
  readonly expiresAt: string
  readonly status: MessageStatus
  readonly claimOwner: string | null
  readonly claimedUntil: string | null
  readonly fence: number
  readonly deliveredAt: string | null
  readonly acknowledgedAt: string | null
  readonly failureReason: FailureReason | null
}

export interface NewMessage
  extends Pick<
    Message,
    | "id"
    | "projectId"
    | "sender"
    | "senderIdentity"
    | "recipient"
    | "sourceRunId"
    | "targetRunId"
    | "threadId"
    | "replyToId"
    | "referenceKind"
    | "referenceId"
    | "idempotencyKey"
    | "content"
    | "expiresAt"
  > {
  readonly askedExpiry: string | null
}

export interface MessageFilter {
  readonly runId?: string | undefined
  readonly reader?: string | undefined
  readonly limit: number
}

/** The agent of a run reads what its run sent, and what it has claimed: so it is known what it was told by others. */
export const mayRead = ({ sourceRunId, targetRunId, fence }: Message, reader: string): boolean =>
  sourceRunId === reader || (targetRunId === reader && fence > 0)

/** Milliseconds for which a claim holds. */
export const leaseMillis = 120_000

/** ISO 8601, of the caller's clock. */
type Time = string

export const makeMessageStore = (sql: SqlShape) => {
  const all: Fragment = sql.fragment`
    message_id as id, project_id as "projectId", sender, sender_identity as "senderIdentity", recipient,
    source_run_id as "sourceRunId", target_run_id as "targetRunId", thread_id as "threadId",
    reply_to_id as "replyToId", reference_kind as "referenceKind", reference_id as "referenceId",
    idempotency_key as "idempotencyKey", content, created_at as "createdAt", expires_at as "expiresAt", status,
    claim_owner as "claimOwner", claimed_until as "claimedUntil", fence, delivered_at as "deliveredAt",
    acknowledged_at as "acknowledgedAt", failure_reason as "failureReason"`

  const first = <A>(rows: ReadonlyArray<A>): A | undefined => rows[0]

  return {
    find: (projectId: string, id: string) =>
      Effect.map(
        sql<Message>`select ${all} from messages_sent where project_id = ${projectId} and message_id = ${id}`,
        first,
      ),

    byKey: (sourceRunId: string, key: string) =>
      Effect.map(
        sql<Message & { readonly askedExpiry: string | null }>`
          select ${all}, asked_expiry as "askedExpiry" from messages_sent
           where source_run_id = ${sourceRunId} and idempotency_key = ${key}`,
        first,
      ),

    /** Newest first; those that a run sent or is to receive, where one is named. `reader`: see `mayRead`. */
    list: (projectId: string, { runId, reader, limit }: MessageFilter) =>
      sql<Message>`
        select ${all} from messages_sent
         where project_id = ${projectId}
           ${runId === undefined ? sql.fragment`` : sql.fragment`and ${runId} in (source_run_id, target_run_id)`}
           ${reader === undefined ? sql.fragment`` : sql.fragment`and (source_run_id = ${reader} or (target_run_id = ${reader} and fence > 0))`}
         order by position desc limit ${limit}`,

    /** Undefined where the source run used the key before. */
    insert: (message: NewMessage, now: Time) =>
      Effect.map(
        sql<Message>`
          insert into messages_sent (message_id, project_id, sender, sender_identity, recipient, source_run_id,
            target_run_id, thread_id, reply_to_id, reference_kind, reference_id, idempotency_key, content, asked_expiry,
            created_at, expires_at)
          values (${message.id}, ${message.projectId}, ${message.sender}, ${message.senderIdentity},
            ${message.recipient}, ${message.sourceRunId}, ${message.targetRunId}, ${message.threadId},
            ${message.replyToId}, ${message.referenceKind}, ${message.referenceId}, ${message.idempotencyKey},
            ${message.content}, ${message.askedExpiry}, ${now}, ${message.expiresAt})
          on conflict (source_run_id, idempotency_key) do nothing returning ${all}`,
        first,
      ),

    /** Leases the oldest message of the run that nobody holds. Of several that claim at once, each gets another one. */
    claim: (projectId: string, runId: string, owner: string, now: Time) =>
      Effect.map(
        sql<Message>`
          update messages_sent set status = 'claimed', claim_owner = ${owner}, fence = fence + 1,
                 claimed_until = ${now}::timestamptz + ${leaseMillis} * interval '1 millisecond'
           where message_id = (
             select message_id from messages_sent
              where project_id = ${projectId} and target_run_id = ${runId} and expires_at > ${now}
                and status in ('accepted', 'claimed') and (status = 'accepted' or claimed_until <= ${now})
              order by position limit 1 for update skip locked)
          returning ${all}`,
        first,
      ),

    /** Undefined where the claim is not the latest, or over. */
    deliver: (id: string, claim: { readonly owner: string; readonly fence: number }, now: Time) =>
      Effect.map(
        sql<Message>`
          update messages_sent set status = 'delivered', delivered_at = ${now}
           where message_id = ${id} and status = 'claimed' and claim_owner = ${claim.owner} and fence = ${claim.fence}
             and claimed_until > ${now} and expires_at > ${now}
          returning ${all}`,
        first,
      ),

    acknowledge: (id: string, now: Time) =>
      Effect.map(
        sql<Message>`
          update messages_sent set status = 'acknowledged', acknowledged_at = ${now}
           where message_id = ${id} and status = 'delivered' and expires_at > ${now} returning ${all}`,
        first,
      ),

    /** Accepted anew, until `expiresAt`. Its fence stays: claims of before are worth nothing. */
    reopen: (id: string, expiresAt: Time) =>
      Effect.map(
        sql<Message>`
          update messages_sent set status = 'accepted', failure_reason = null, claim_owner = null, claimed_until = null,
                 delivered_at = null, expires_at = ${expiresAt}
           where message_id = ${id} and status in ('expired', 'undeliverable') returning ${all}`,
        first,
      ),

    /** Ends what has run out of time, and what nobody is there to receive. `retired`: agents that left the team. */
    settle: (projectId: string, retired: ReadonlyArray<string>, now: Time) => sql`
      update messages_sent m set status = s.status, failure_reason = s.reason
        from (
          select o.message_id, o.status as before,
                 case when o.expires_at <= ${now} then 'expired' else 'undeliverable' end as status,
                 case when o.expires_at <= ${now} then 'ttl_elapsed'
                      when r.run_id is null then 'target_completed'
                      when r.ended_at is not null or r.archived_at is not null then
                        case when r.status = 'cancelled' or r.result in ('cancelled', 'steering_stop')
                             then 'target_cancelled' else 'target_completed' end
                      else 'recipient_retired' end as reason
            from messages_sent o left join runs r on r.run_id = o.target_run_id
           where o.project_id = ${projectId} and o.status in ('accepted', 'claimed', 'delivered')
             and (o.expires_at <= ${now}
               or (o.status <> 'delivered' and (r.run_id is null or r.ended_at is not null or r.archived_at is not null
                                                or o.recipient = any(${retired}::text[]))))) s
       where m.message_id = s.message_id and m.status = s.before`,
  }
}

export type MessageStore = ReturnType<typeof makeMessageStore>
