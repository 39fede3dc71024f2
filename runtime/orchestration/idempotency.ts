/** Requests that may be sent again with the same `Idempotency-Key`: the second gets what the first came to. */
import { createHash } from "node:crypto"
import { Effect } from "effect"
import { canonicalJson } from "#core/canonical-json.ts"
import { type Refusal, refuse, refuseInput } from "#core/refusal.ts"
import type { DatabaseUnavailable, SqlShape } from "#core/sql.ts"

const header = "idempotency-key"
const form = /^[\x21-\x7e]{1,128}$/

export interface Keyed<A, R> {
  readonly headers: Headers
  /** Who sends it, and where to. */
  readonly scope: string
  /** What is asked for: the same key with another request is a conflict. */
  readonly request: unknown
  /** Does it. The text stands for what came of it. */
  readonly act: Effect.Effect<{ readonly answer: A; readonly result: string }, Refusal | DatabaseUnavailable, R>
  /** The answer, from that text. */
  readonly again: (result: string) => Effect.Effect<A, Refusal | DatabaseUnavailable, R>
}

/** In one transaction with the deed: there is never a key without a result, nor two deeds for one key. */
export const once = <A, R>(sql: SqlShape, { headers, scope, request, act, again }: Keyed<A, R>) =>
  Effect.gen(function* () {
    const key = headers.get(header)
    if (key === null) return (yield* act).answer
    if (!form.test(key)) {
      return yield* refuseInput([{ path: header, message: "Expected 1 to 128 printable ASCII characters" }])
    }
    const fingerprint = createHash("sha256").update(canonicalJson(request)).digest("hex")
    return yield* sql.transaction(
      Effect.gen(function* () {
        // whoever comes second waits here for the first
        yield* sql`select pg_advisory_xact_lock(hashtextextended(${`${scope} ${key}`}, 0))`
        const [known] = yield* sql<{ readonly fingerprint: string; readonly result: string }>`
          select fingerprint, result from idempotency_keys where scope = ${scope} and key = ${key}`
        if (known !== undefined) {
          return yield* known.fingerprint === fingerprint ? again(known.result) : refuse("idempotency_key_conflict")
        }
        const { answer, result } = yield* act
        yield* sql`
          insert into idempotency_keys (scope, key, fingerprint, result)
          values (${scope}, ${key}, ${fingerprint}, ${result})`
        return answer
      }),
    )
  })
