/**
 * The local profile: one person on their own machine, without settings. On the first start a random key is
 * stored in the data folder, readable by its owner only; later starts use it again. The key itself is never
 * printed or logged.
 *
 * It does nothing where an API key is configured, and is never on unless the command asks for it.
 */
import {
  closeSync,
  constants,
  fstatSync,
  fsyncSync,
  linkSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  writeSync,
} from "node:fs"
import { join } from "node:path"
import { Data, Effect, Redacted } from "effect"
import { registerSecret } from "#core/redaction.ts"
import type { SettingsValues } from "#core/settings.ts"
import { apiKeyForm, newApiKey } from "#runtime/api-key.ts"

export const localUser = "local"

export class LocalKeyUnusable extends Data.TaggedError("LocalKeyUnusable")<{
  readonly path: string
  readonly message: string
}> {}

export interface LocalKey {
  readonly Token: Redacted.Redacted<string>
  readonly User: string
  /** The file of the key. */
  readonly path: string
  readonly created: boolean
}

export const localKeyPath = (directory: string): string => join(directory, "api-key")

/** The key of the data folder; created where there is none, also when two processes start at once. */
export const localKey = (directory: string): Effect.Effect<LocalKey, LocalKeyUnusable> =>
  attempt(localKeyPath(directory), (path) => {
    mkdirSync(directory, { recursive: true, mode: 0o700 })
    const created = createIfAbsent(path)
    return known(readKey(path), path, created)
  })

/** Puts a new key in the place of the old one, at once. A service that is running keeps the old one until it restarts. */
export const rotateLocalKey = (directory: string): Effect.Effect<LocalKey, LocalKeyUnusable> =>
  attempt(localKeyPath(directory), (path) => {
    mkdirSync(directory, { recursive: true, mode: 0o700 })
    renameSync(writeNewKey(path), path)
    return known(readKey(path), path, true)
  })

/** The settings with the local key and its user, a platform administrator. */
export const withLocalKey = (settings: SettingsValues, { Token, User }: LocalKey): SettingsValues => ({
  ...settings,
  Auth: {
    ...settings.Auth,
    Keys: [...settings.Auth.Keys, { Token, User }],
    PlatformAdministrators: [...new Set([...settings.Auth.PlatformAdministrators, User])],
  },
})

/** No person or client can be let in. The internal key is for the service's own pods and does not count. */
export const needsLocalKey = ({ Auth }: SettingsValues): boolean => Auth.Keys.length === 0 && Auth.ApiKey === undefined

const known = (token: string, path: string, created: boolean): LocalKey => {
  registerSecret(token)
  return { Token: Redacted.make(token), User: localUser, path, created }
}

/** A complete file appears or none: it is written beside its place and linked, which fails where there is one. */
const createIfAbsent = (path: string): boolean => {
  const written = writeNewKey(path)
  try {
    linkSync(written, path)
    return true
  } catch (error) {
    if (isCode(error, "EEXIST")) return false
    throw error
  } finally {
    rmSync(written, { force: true })
  }
}

const writeNewKey = (path: string): string => {
  const beside = `${path}.${process.pid}.${Math.random().toString(36).slice(2)}`
  const file = openSync(beside, "wx", 0o600)
  try {
    writeSync(file, `${newApiKey()}\n`)
    fsyncSync(file)
  } finally {
    closeSync(file)
  }
  return beside
}

const readKey = (path: string): string => {
  // no symbolic link: it could make us trust a file of somebody else
  const file = openSync(path, constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0))
  try {
    const { mode, uid } = fstatSync(file)
    const self = process.getuid?.()
    if (self !== undefined && (mode & 0o077) !== 0) {
      throw new Error(`others can read ${path}. Replace the key with \`svc keys create --local\``)
    }
    if (self !== undefined && uid !== self && uid !== 0) throw new Error(`${path} belongs to another user`)
    const token = readFileSync(file, "utf8").trim()
    if (!apiKeyForm.test(token)) {
      throw new Error(`${path} holds no key. Replace it with \`svc keys create --local\``)
    }
    return token
  } finally {
    closeSync(file)
  }
}

const attempt = <A>(path: string, work: (path: string) => A): Effect.Effect<A, LocalKeyUnusable> =>
  Effect.try({
    try: () => work(path),
    catch: (cause) =>
      new LocalKeyUnusable({
        path,
        message: `The key of the local profile cannot be used: ${cause instanceof Error ? cause.message : String(cause)}.`,
      }),
  })

const isCode = (error: unknown, code: string): boolean =>
  error instanceof Error && "code" in error && error.code === code
