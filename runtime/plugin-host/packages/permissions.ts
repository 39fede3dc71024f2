/**
 * What a policy may have beyond its question: hosts to call, settings to read, values to keep. A manifest asks for it, an
 * operator grants it, and nothing that was not granted is ever there. Pure.
 */
import { Effect, Schema } from "effect"

/** Entries of one list. */
const mostEntries = 32
const originForm = /^https:\/\/(?!-)(?:[a-z0-9-]{1,63}\.)+[a-z](?:[a-z0-9-]{0,61}[a-z0-9])?(?::[1-9]\d{0,4})?$/

const Origin = Schema.String.check(
  Schema.isPattern(originForm, { expected: "an origin like https://api.example.com or https://api.example.com:8443" }),
  Schema.isMaxLength(200),
)
const ConfigName = Schema.String.check(
  Schema.isPattern(/^[A-Za-z][A-Za-z0-9_.-]{0,63}$/, { expected: "the name of a setting" }),
)

const listOf = <S extends Schema.Top>(entry: S, description: string) =>
  Schema.Array(entry)
    .annotate({ description })
    .check(Schema.isMaxLength(mostEntries))
    .pipe(Schema.withDecodingDefaultKey(Effect.succeed([])))

export const Permissions = Schema.Struct({
  net: listOf(Origin, "Origins that the policy may call: scheme, host and port, nothing behind it."),
  config: listOf(ConfigName, "Names in the plugin's settings that the policy may read."),
  kv: Schema.Boolean.annotate({ description: "May it keep values from one question to the next?" }).pipe(
    Schema.withDecodingDefaultKey(Effect.succeed(false)),
  ),
})
export type Permissions = typeof Permissions.Type

export const noPermissions: Permissions = { net: [], config: [], kv: false }

/** One permission, as people name it: `net:https://api.example.com`, `config:threshold`, `kv`. */
export type PermissionName = string

export const namesOf = ({ net, config, kv }: Permissions): ReadonlyArray<PermissionName> => [
  ...net.map((origin) => `net:${origin}`),
  ...config.map((name) => `config:${name}`),
  ...(kv ? ["kv"] : []),
]

const fromNames = (names: Iterable<PermissionName>): Permissions => {
  const sorted = [...new Set(names)].toSorted()
  const after = (prefix: string) =>
    sorted.filter((name) => name.startsWith(prefix)).map((name) => name.slice(prefix.length))
  return { net: after("net:"), config: after("config:"), kv: sorted.includes("kv") }
}

export interface PermissionDiff {
  /** Asked for, and not granted. */
  readonly missing: ReadonlyArray<PermissionName>
  /** Granted, and not asked for (any more). */
  readonly unused: ReadonlyArray<PermissionName>
  readonly granted: ReadonlyArray<PermissionName>
}

export const compare = (asked: Permissions, grants: Permissions): PermissionDiff => {
  const [wanted, given] = [namesOf(asked), namesOf(grants)]
  return {
    missing: wanted.filter((name) => !given.includes(name)),
    unused: given.filter((name) => !wanted.includes(name)),
    granted: wanted.filter((name) => given.includes(name)),
  }
}

/** Both together. */
export const widen = (one: Permissions, other: Permissions): Permissions =>
  fromNames([...namesOf(one), ...namesOf(other)])

/** The first without those of the second. */
export const narrow = (from: Permissions, names: ReadonlyArray<PermissionName>): Permissions =>
  fromNames(namesOf(from).filter((name) => !names.includes(name)))

/** Those of `asked` that are named. */
export const chosen = (asked: Permissions, names: ReadonlyArray<PermissionName>): Permissions =>
  fromNames(namesOf(asked).filter((name) => names.includes(name)))
