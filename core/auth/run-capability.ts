/**
 * Callbacks of a run's agents over HTTP: the service's internal key says that the request comes from one of its own
 * pods, a short-lived token says for which run. Only the token's SHA-256 digest is stored; project and agent are
 * those of the stored run, never what the request says.
 */
import { hash, randomBytes } from "node:crypto"
import { Duration, Effect } from "effect"
import type { Authenticator } from "#core/auth/authenticator.ts"
import { anonymous, type Caller } from "#core/auth/caller.ts"
import { coordinatorAgent } from "#core/run/run.ts"
import type { SqlShape } from "#core/sql.ts"

/** The header that carries the token, beside the internal key in `Authorization`. */
export const capabilityHeader = "svc-run-capability"

/** As long as a turn may last, and a little: it is issued anew for every turn. */
const defaultLifetime = Duration.hours(2)
const tokenBytes = 32
/** 32 bytes in base64url. */
const tokenForm = /^[A-Za-z0-9_-]{43}$/

const digestOf = (token: string): Uint8Array => hash("sha256", token, "buffer")

export const makeRunCapabilities = (sql: SqlShape) => ({
  /** A new token for the run. Those that are over are removed on the way. */
  issue: Effect.fn("RunCapabilities.issue")(function* (runId: string, lifetime: Duration.Duration = defaultLifetime) {
    const token = randomBytes(tokenBytes).toString("base64url")
    yield* sql`delete from run_capabilities where expires_at <= now()`
    yield* sql`
      insert into run_capabilities (digest, run_id, expires_at)
      values (${digestOf(token)}, ${runId}, now() + ${Duration.toMillis(lifetime)} * interval '1 millisecond')`
    return token
  }),

  /** Tokens of the run are worth nothing from here on. */
  revoke: (runId: string) => sql`delete from run_capabilities where run_id = ${runId}`,

  /**
   * The run that a token stands for; undefined for a token that is unknown or over, and for a run that has ended.
   * It is found by its digest, so that the time that takes tells nothing of the tokens that there are.
   */
  verify: Effect.fn("RunCapabilities.verify")(function* (token: string) {
    if (!tokenForm.test(token)) return undefined
    const [run] = yield* sql<Omit<Extract<Caller, { kind: "run" }>, "kind">>`
      select r.run_id as "runId", r.project_id as "projectId", r.agent_name as "agentName",
             (r.agent_name = ${coordinatorAgent} and r.parent_run_id is null) is true as coordinator
        from run_capabilities c
        join runs r on r.run_id = c.run_id
       where c.digest = ${digestOf(token)} and c.expires_at > now() and r.ended_at is null`
    return run
  }),
})

/**
 * Goes before the authenticator of the internal key, and asks it. A request with a token that is not valid comes from
 * nobody, also where its key is.
 */
export const runCapabilities = (sql: SqlShape, internal: Authenticator): Authenticator => {
  const { verify } = makeRunCapabilities(sql)
  return {
    name: "run-capabilities",
    recognise: Effect.fnUntraced(function* (credentials) {
      const token = credentials.headers.get(capabilityHeader)
      if (token === null) return undefined
      if ((yield* internal.recognise(credentials))?.kind !== "internal") return anonymous
      const run = yield* verify(token)
      return run === undefined ? anonymous : { kind: "run", ...run }
    }),
  }
}
