/** Addressed messages over HTTP: agents act by the capability of their run, people look on. */
import { Effect, Schema } from "effect"
import type { Caller } from "#core/auth/caller.ts"
import { Id } from "#core/ids.ts"
import { query } from "#core/query.ts"
import { refuse } from "#core/refusal.ts"
import { access, type Route, reply, route } from "#core/route.ts"
import type { Correspondent, Messages } from "#plugins/messages/messages.ts"
import { failureReasons, messageStatuses, referenceKinds } from "#plugins/messages/store.ts"

const tag = "Addressed messages"
const path = "/api/projects/{id}/agent-messages"

type Nothing = Record<never, never>

const text = Schema.String
const maybe = Schema.NullOr(Schema.String)
const optional = Schema.optionalKey(maybe)

export const MessageAnswer = Schema.Struct({
  id: text,
  projectId: text,
  sender: text,
  senderIdentity: text,
  recipient: text,
  sourceRunId: text,
  targetRunId: text,
  threadId: text,
  replyToId: maybe,
  referenceKind: Schema.NullOr(Schema.Literals(referenceKinds)),
  referenceId: maybe,
  idempotencyKey: text,
  content: text,
  createdAt: text,
  expiresAt: text,
  status: Schema.Literals(messageStatuses),
  claimOwner: maybe,
  claimedUntil: maybe,
  fence: Schema.Int,
  deliveredAt: maybe,
  acknowledgedAt: maybe,
  failureReason: Schema.NullOr(Schema.Literals(failureReasons)),
})
type MessageAnswer = typeof MessageAnswer.Type

const SendBody = Schema.Struct({
  recipient: text,
  target_run_id: text,
  content: text,
  idempotency_key: text,
  reply_to_id: optional,
  reference_kind: optional,
  reference_id: optional,
  expires_at: optional,
})
const ClaimBody = Schema.Struct({ owner: text })
const DeliverBody = Schema.Struct({ owner: text, fence: Schema.Int })

const defaultLimit = 50
const ListQuery = Schema.Struct({
  limit: Schema.optionalKey(query.int({ minimum: 1, maximum: 100 })),
  run_id: Schema.optionalKey(Id),
})

const ById = Schema.Struct({ id: text })
type ById = typeof ById.Type
const ByMessage = Schema.Struct({ id: text, messageId: text })
type ByMessage = typeof ByMessage.Type

/** The gateway has let in runs of the project alone. */
const correspondent = (caller: Caller, projectId: string): Effect.Effect<Correspondent, ReturnType<typeof refuse>> =>
  caller.kind === "run" ? Effect.succeed({ ...caller, projectId }) : refuse("forbidden")

/** People see every message of their project, an agent those of its own run. */
const readerOf = (caller: Caller): string | undefined => (caller.kind === "run" ? caller.runId : undefined)

export const messageRoutes = (messages: Messages): ReadonlyArray<Route> => [
  route<ById, Nothing, typeof SendBody.Type, MessageAnswer>({
    method: "POST",
    path,
    access: access.runCapability(),
    summary: "Send a message to the agent of a run; the same key again gives the message of before",
    tag,
    params: ById,
    body: SendBody,
    answer: MessageAnswer,
    statuses: [201],
    refuses: [
      "invalid_message",
      "idempotency_conflict",
      "invalid_expiry",
      "recipient_unavailable",
      "target_not_running",
      "run_unavailable",
      "reply_unavailable",
    ],
    handle: Effect.fn("messages.route.send")(function* ({ params, body, caller }) {
      return reply.json(201, yield* messages.send(yield* correspondent(caller, params.id), body))
    }),
  }),
  route<ById, typeof ListQuery.Type, undefined, ReadonlyArray<MessageAnswer>>({
    method: "GET",
    path,
    access: access.project("viewer", "id", "any"),
    summary: "Messages of the project, newest first; to an agent, those that its run sent or claimed",
    tag,
    params: ById,
    query: ListQuery,
    answer: Schema.Array(MessageAnswer),
    handle: Effect.fn("messages.route.list")(function* ({ params, query: { limit = defaultLimit, run_id }, caller }) {
      return yield* messages.list(params.id, { runId: run_id, reader: readerOf(caller), limit })
    }),
  }),
  route<ById, Nothing, typeof ClaimBody.Type, MessageAnswer>({
    method: "POST",
    path: `${path}/claim`,
    access: access.runCapability(),
    summary: "Lease the oldest message that waits for this run, for 2 minutes; 204 where none waits",
    tag,
    params: ById,
    body: ClaimBody,
    answer: MessageAnswer,
    statuses: [200, 204],
    refuses: ["invalid_claim_owner"],
    handle: Effect.fn("messages.route.claim")(function* ({ params, body, caller }) {
      const claimed = yield* messages.claim(yield* correspondent(caller, params.id), body.owner)
      return claimed === undefined ? reply.empty() : claimed
    }),
  }),
  route<ByMessage, Nothing, undefined, MessageAnswer>({
    method: "GET",
    path: `${path}/{messageId}`,
    access: access.project("viewer", "id", "any"),
    summary: "One message, with how far it got",
    tag,
    params: ByMessage,
    answer: MessageAnswer,
    handle: ({ params, caller }) => messages.get(params.id, params.messageId, readerOf(caller)),
  }),
  route<ByMessage, Nothing, typeof DeliverBody.Type, MessageAnswer>({
    method: "POST",
    path: `${path}/{messageId}/deliver`,
    access: access.runCapability(),
    summary: "Say that a claimed message was delivered; needs the owner and the fence of its claim",
    tag,
    params: ByMessage,
    body: DeliverBody,
    answer: MessageAnswer,
    refuses: ["claim_lost", "message_unavailable", "recipient_run_required"],
    handle: Effect.fn("messages.route.deliver")(function* ({ params, body, caller }) {
      return yield* messages.deliver(yield* correspondent(caller, params.id), params.messageId, body)
    }),
  }),
  route<ByMessage, Nothing, undefined, MessageAnswer>({
    method: "POST",
    path: `${path}/{messageId}/acknowledge`,
    access: access.runCapability(),
    summary: "Say that a delivered message was received; again is the same",
    tag,
    params: ByMessage,
    answer: MessageAnswer,
    refuses: ["message_not_delivered", "message_unavailable", "recipient_run_required"],
    handle: Effect.fn("messages.route.acknowledge")(function* ({ params, caller }) {
      return yield* messages.acknowledge(yield* correspondent(caller, params.id), params.messageId)
    }),
  }),
  route<ByMessage, Nothing, undefined, MessageAnswer>({
    method: "POST",
    path: `${path}/{messageId}/retry`,
    access: access.project("contributor", "id", "any"),
    summary: "Send a message again that expired or could not be delivered",
    tag,
    params: ByMessage,
    answer: MessageAnswer,
    refuses: ["message_unavailable", "target_not_running", "recipient_unavailable"],
    handle: Effect.fn("messages.route.retry")(function* ({ params, caller }) {
      return yield* messages.retry(params.id, params.messageId, caller.kind === "run" ? caller : null)
    }),
  }),
]
