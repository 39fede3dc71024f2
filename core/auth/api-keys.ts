/**
 * API keys from the configuration. Only their SHA-256 digests are kept; a key that is sent is compared
 * with every one of them in constant time, so that time tells nothing about which key came close.
 */
import { hash, timingSafeEqual } from "node:crypto"
import { Effect, Redacted } from "effect"
import type { Authenticator } from "#core/auth/authenticator.ts"
import type { Caller } from "#core/auth/caller.ts"
import type { SettingsValues } from "#core/settings.ts"

interface Entry {
  readonly digest: Uint8Array
  readonly caller: Caller
}

const digestOf = (key: string): Uint8Array => hash("sha256", key, "buffer")

export const apiKeys = (auth: SettingsValues["Auth"]): Authenticator => {
  const administrators = new Set(auth.PlatformAdministrators)
  const entries: Array<Entry> = []
  const add = (key: Redacted.Redacted<string> | undefined, caller: Caller) => {
    const value = key === undefined ? "" : Redacted.value(key)
    if (value !== "") entries.push({ digest: digestOf(value), caller })
  }
  const user = (subject: string): Caller => ({
    kind: "user",
    subject,
    via: "api-key",
    platformAdmin: administrators.has(subject),
  })
  for (const { Token, User } of auth.Keys) add(Token, user(User))
  if (auth.User !== undefined) add(auth.ApiKey, user(auth.User))
  add(auth.InternalKey, { kind: "internal" })

  return {
    name: "api-keys",
    recognise: ({ bearer }) => Effect.sync(() => (bearer === undefined ? undefined : find(entries, bearer))),
  }
}

/** Looks at every entry, also after a match. */
const find = (entries: ReadonlyArray<Entry>, key: string): Caller | undefined => {
  const digest = digestOf(key)
  let found: Caller | undefined
  for (const entry of entries) if (timingSafeEqual(entry.digest, digest)) found = entry.caller
  return found
}
