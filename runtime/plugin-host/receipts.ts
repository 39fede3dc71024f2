/** What one policy answered, from the logs of all runs, the latest first: decisions, also those where it was only asked, and shadows. */
import { Effect, Schema } from "effect"
import { PolicyDecision, PolicyShadow } from "#core/hook/events.ts"
import { Sql } from "#core/sql.ts"

/** The latest events of policies that are looked through: a policy that is asked seldom has older ones too. */
const lookedThrough = 20_000

/** `decided`: its answer counted. `consulted`: it was asked, and another answer counted, or the service's own. `shadow`: watched only. */
export const receiptRoles = ["decided", "consulted", "shadow"] as const

export const ReceiptReport = Schema.Struct({
  run_id: Schema.String,
  /** With the run: what `svc plugin verify-receipt` takes. */
  sequence: Schema.Int,
  /** ISO 8601. */
  at: Schema.String,
  question: Schema.String,
  role: Schema.Literals(receiptRoles),
  version: Schema.NullOr(Schema.String),
  /** Of the module; null for code of the process, which has no receipt that could be checked. */
  digest: Schema.NullOr(Schema.String),
  abi: Schema.NullOr(Schema.Int),
  input_hash: Schema.String,
  /** False: the log does not hold the whole question, which cannot be asked again then. Null for shadows. */
  input_complete: Schema.NullOr(Schema.Boolean),
  /** Null: no opinion. */
  answer: Schema.Unknown,
  /** Of a shadow: would it have decided the same? */
  agrees: Schema.NullOr(Schema.Boolean),
  fuel: Schema.NullOr(Schema.Finite),
  duration_ms: Schema.Finite,
  /** Where it called hosts or used what it keeps: such an answer cannot be checked by asking again. */
  io: Schema.NullOr(Schema.Struct({ calls: Schema.Int, digest: Schema.String })),
})
export type ReceiptReport = typeof ReceiptReport.Type

interface Row {
  readonly run_id: string
  readonly sequence: number
  readonly type: string
  readonly payload: string
  readonly created_at: string
}

export const receiptsOf = Effect.fn("receiptsOf")(function* (plugin: string, limit: number) {
  const sql = yield* Sql
  const mine = sql.json([{ plugin }])
  const rows = yield* sql<Row>`
    select run_id, sequence, type, payload::text as payload, created_at from (
      select run_id, sequence, type, payload, created_at from events
       where type in ('policy.decision', 'policy.shadow')
       order by created_at desc
       limit ${lookedThrough}
    ) latest
     where coalesce(payload ->> 'policy', payload ->> 'plugin') = ${plugin}
        or (payload -> 'consulted')::jsonb @> ${mine}::jsonb
     order by created_at desc, run_id, sequence desc
     limit ${limit}`
  return rows.flatMap((row) => receiptsIn(row, plugin)).slice(0, limit)
})

const decode = {
  decision: Schema.decodeUnknownSync(PolicyDecision.payload),
  shadow: Schema.decodeUnknownSync(PolicyShadow.payload),
}

const receiptsIn = (
  { run_id, sequence, type, payload, created_at }: Row,
  plugin: string,
): ReadonlyArray<ReceiptReport> => {
  const place = { run_id, sequence, at: created_at }
  const written: unknown = JSON.parse(payload)
  if (type === PolicyShadow.type) {
    const shadow = decode.shadow(written)
    const { question, input_hash, decision: answer, agrees } = shadow
    const asked = { question, role: "shadow", input_hash, input_complete: null, answer, agrees } as const
    return [{ ...place, ...asked, ...authorOf(shadow) }]
  }
  const decision = decode.decision(written)
  const { question, input_hash, input_complete } = decision
  const others = decision.consulted.map((by) => ({ by, role: "consulted" as const }))
  return [{ by: decision, role: "decided" as const }, ...others].flatMap(({ by, role }) => {
    const asked = { question, role, input_hash, input_complete, answer: by.answer, agrees: null }
    return by.plugin === plugin ? [{ ...place, ...asked, ...authorOf(by) }] : []
  })
}

type Author = Pick<typeof PolicyShadow.payload.Type, "version" | "digest" | "abi" | "fuel" | "duration_ms" | "io">

const authorOf = ({ version, digest, abi, fuel, duration_ms, io }: Author) => ({
  version,
  digest,
  abi,
  fuel,
  duration_ms,
  io: io ?? null,
})
