/** What a message must be to be sent. Pure. */
import { Result } from "effect"
import { isId } from "#core/ids.ts"
import { type Refusal, refuse } from "#core/refusal.ts"
import { type Message, type NewMessage, type ReferenceKind, referenceKinds } from "#plugins/messages/store.ts"

export interface SendInput {
  readonly recipient: string
  readonly target_run_id: string
  readonly content: string
  readonly idempotency_key: string
  readonly reply_to_id?: string | null | undefined
  readonly reference_kind?: string | null | undefined
  readonly reference_id?: string | null | undefined
  readonly expires_at?: string | null | undefined
}

/** What the sender asked for, read. */
export interface Asked {
  readonly recipient: string
  readonly targetRunId: string
  readonly content: string
  readonly idempotencyKey: string
  readonly replyToId: string | null
  readonly referenceKind: ReferenceKind | null
  readonly referenceId: string | null
  readonly askedExpiry: string | null
  readonly expiresAt: string
}

const maxContent = 16_000
const maxKey = 128
const maxReference = 128
const maxRecipient = 100
const day = 86_400_000
/** Milliseconds from now on. */
export const defaultLife = day
const longestLife = 7 * day

const iso = /^\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?(?:Z|[+-]\d\d:\d\d)$/

const isText = (text: string, maximum: number): boolean =>
  text.trim() !== "" && text.length <= maximum && !text.includes("\0") && text.isWellFormed()

export const readSend = (input: SendInput, now: number): Result.Result<Asked, Refusal> => {
  const wrong = (message: string) => Result.fail(refuse("invalid_message", { message }))
  const { reference_kind: kind = null, reference_id: reference = null, reply_to_id: reply = null } = input
  const recipient = input.recipient.trim()
  if (!isText(recipient, maxRecipient)) return wrong(`recipient must have 1 to ${maxRecipient} characters.`)
  if (!isText(input.content, maxContent)) return wrong(`content must be text of 1 to ${maxContent} characters.`)
  if (!isText(input.idempotency_key, maxKey)) return wrong(`idempotency_key must have 1 to ${maxKey} characters.`)
  if ((kind === null) !== (reference === null)) return wrong("reference_kind and reference_id belong together.")
  const referenceKind = referenceKinds.find((known) => known === kind) ?? null
  if (kind !== null && referenceKind === null)
    return wrong(`reference_kind must be one of: ${referenceKinds.join(", ")}.`)
  if (reference !== null && !isText(reference, maxReference)) {
    return wrong(`reference_id must have 1 to ${maxReference} characters.`)
  }
  const targetRunId = input.target_run_id.trim().toLowerCase()
  if (!isId(targetRunId)) return Result.fail(refuse("target_not_running"))
  const replyToId = reply?.trim().toLowerCase() ?? null
  if (replyToId !== null && !isId(replyToId)) return Result.fail(refuse("reply_unavailable"))
  const expiry = readExpiry(input.expires_at ?? null, now)
  return expiry === undefined
    ? Result.fail(refuse("invalid_expiry"))
    : Result.succeed({
        recipient,
        targetRunId,
        content: input.content,
        idempotencyKey: input.idempotency_key,
        replyToId,
        referenceKind,
        referenceId: reference,
        ...expiry,
      })
}

const readExpiry = (text: string | null, now: number) => {
  if (text === null) return { askedExpiry: null, expiresAt: new Date(now + defaultLife).toISOString() }
  const at = iso.test(text) ? Date.parse(text) : Number.NaN
  if (!(at > now && at <= now + longestLife)) return undefined
  const asked = new Date(at).toISOString()
  return { askedExpiry: asked, expiresAt: asked }
}

type Sent = Message & Pick<NewMessage, "askedExpiry">

/** Is this the message that was sent before, asked for again? The time at which it was sent first does not count. */
export const isSame = (sent: Sent, input: SendInput): boolean =>
  sent.recipient === input.recipient.trim() &&
  sent.targetRunId === input.target_run_id.trim().toLowerCase() &&
  sent.content === input.content &&
  sent.replyToId === (input.reply_to_id?.trim().toLowerCase() ?? null) &&
  sent.referenceKind === (input.reference_kind ?? null) &&
  sent.referenceId === (input.reference_id ?? null) &&
  (sent.askedExpiry === null
    ? input.expires_at == null
    : Date.parse(sent.askedExpiry) === Date.parse(input.expires_at ?? ""))
