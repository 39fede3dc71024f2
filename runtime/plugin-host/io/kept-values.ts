/**
 * What one plugin keeps: values by key, in a namespace of its own, in the database that all replicas share. Bounded in number and size;
 * each write is committed by itself, whatever the policy answers afterwards.
 */
import { Effect, Schema } from "effect"
import { type DatabaseUnavailable, Sql } from "#core/sql.ts"

export interface Quota {
  readonly keys: number
  /** Of keys and values together. */
  readonly bytes: number
}

export const defaultQuota: Quota = { keys: 1_000, bytes: 1_024 * 1_024 }

export class QuotaExceeded extends Schema.TaggedError<QuotaExceeded>()("QuotaExceeded", { message: Schema.String }) {}

export interface KeptValues {
  /** Null: there is none. */
  readonly get: (key: string) => Effect.Effect<string | null, DatabaseUnavailable>
  /** `expected`: only where the value is this one, or where there is none (null). False: it was another. */
  readonly set: (
    key: string,
    value: string,
    expected?: string | null,
  ) => Effect.Effect<boolean, DatabaseUnavailable | QuotaExceeded>
  /** False: there was none. */
  readonly delete: (key: string) => Effect.Effect<boolean, DatabaseUnavailable>
}

export const keptValues = (plugin: string, quota: Quota = defaultQuota) =>
  Effect.map(Sql, (sql): KeptValues => {
    const get = Effect.fn("KeptValues.get")(function* (key: string) {
      const [row] = yield* sql<{ readonly value: Uint8Array }>`
        select value from plugin_kv where plugin = ${plugin} and key = ${key}`
      return row === undefined ? null : Buffer.from(row.value).toString()
    })
    const usedBesides = Effect.fnUntraced(function* (key: string) {
      const [row] = yield* sql<{ readonly keys: number; readonly bytes: number }>`
        select count(*) as keys, coalesce(sum(octet_length(key) + octet_length(value)), 0)::bigint as bytes
          from plugin_kv where plugin = ${plugin} and key <> ${key}`
      return row ?? { keys: 0, bytes: 0 }
    })
    const set = Effect.fn("KeptValues.set")(function* (key: string, value: string, expected?: string | null) {
      // one writer of a plugin at a time: what was counted is what is written beside
      yield* sql`select pg_advisory_xact_lock(hashtextextended(${`plugin_kv ${plugin}`}, 0))`
      if (expected !== undefined && (yield* get(key)) !== expected) return false
      const bytes = Buffer.from(value)
      const used = yield* usedBesides(key)
      if (used.keys + 1 > quota.keys || used.bytes + Buffer.byteLength(key) + bytes.length > quota.bytes) {
        const message = `${plugin} may keep ${quota.keys} values of ${quota.bytes} bytes together.`
        return yield* new QuotaExceeded({ message })
      }
      yield* sql`
        insert into plugin_kv (plugin, key, value) values (${plugin}, ${key}, ${bytes})
        on conflict (plugin, key) do update set value = excluded.value, updated_at = now()`
      return true
    }, sql.transaction)
    const remove = Effect.fn("KeptValues.delete")(function* (key: string) {
      const rows = yield* sql`delete from plugin_kv where plugin = ${plugin} and key = ${key} returning 1`
      return rows.length > 0
    })
    return { get, set, delete: remove }
  })

/** When a plugin is uninstalled. Gives the number of values that it kept. */
export const forgetKeptValues = Effect.fn("forgetKeptValues")(function* (plugin: string) {
  const sql = yield* Sql
  const rows = yield* sql`delete from plugin_kv where plugin = ${plugin} returning 1`
  return rows.length
})
