/**
 * Who is calling: a chain of authenticators, each of which knows one kind of credential. The first
 * that recognises the credential decides; when none does, the caller is anonymous.
 */
import { Effect } from "effect"
import { anonymous, type Caller } from "#core/auth/caller.ts"
import type { DatabaseUnavailable } from "#core/sql.ts"

/** What a request brought along to say who it is from. */
export interface Credentials {
  /** The token of a well-formed `Authorization: Bearer` header (RFC 6750). Never taken from the URL. */
  readonly bearer: string | undefined
  readonly headers: Headers
}

export interface Authenticator {
  /** `api-keys`, `sessions`, …: for logs. */
  readonly name: string
  /** Undefined: not a credential of this kind, or not a valid one. */
  readonly recognise: (credentials: Credentials) => Effect.Effect<Caller | undefined, DatabaseUnavailable>
}

/** One scheme, at least one space, one token of visible characters; anything else counts as no credential. */
const bearerForm = /^bearer +([\x21-\x7e]{1,4096})$/i

export const credentialsOf = (headers: Headers): Credentials => ({
  bearer: bearerForm.exec(headers.get("authorization") ?? "")?.[1],
  headers,
})

/** The caller that the first authenticator recognises. */
export const authenticate = (
  chain: ReadonlyArray<Authenticator>,
  headers: Headers,
): Effect.Effect<Caller, DatabaseUnavailable> =>
  Effect.gen(function* () {
    const credentials = credentialsOf(headers)
    for (const authenticator of chain) {
      const caller = yield* authenticator.recognise(credentials)
      if (caller !== undefined) return caller
    }
    return anonymous
  })
