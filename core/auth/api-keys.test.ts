import { Effect } from "effect"
import { describe, expect, it } from "vitest"
import { apiKeys } from "#core/auth/api-keys.ts"
import { authenticate, credentialsOf } from "#core/auth/authenticator.ts"
import { type SettingsInput, settingsForTests } from "#core/settings.ts"

const who = (auth: NonNullable<SettingsInput["Auth"]>, authorization?: string) =>
  Effect.runSync(
    authenticate([apiKeys(settingsForTests({ Auth: auth }).Auth)], new Headers(authorization ? { authorization } : {})),
  )

const auth = {
  Keys: [
    { Token: "token-of-ada", User: "ada" },
    { Token: "other-token-of-ada", User: "ada" },
    { Token: "token-of-bob", User: "bob" },
  ],
  ApiKey: "token-of-carol",
  User: "carol",
  InternalKey: "token-of-the-service",
  PlatformAdministrators: ["bob"],
}
const user = (subject: string, platformAdmin = false) => ({ kind: "user", subject, via: "api-key", platformAdmin })

describe("API keys", () => {
  it("stand for their user, each of them", () => {
    expect(who(auth, "Bearer token-of-ada")).toEqual(user("ada"))
    expect(who(auth, "Bearer other-token-of-ada")).toEqual(user("ada"))
    expect(who(auth, "Bearer token-of-bob")).toEqual(user("bob", true))
    expect(who(auth, "Bearer token-of-carol")).toEqual(user("carol"))
    expect(who(auth, "Bearer token-of-the-service")).toEqual({ kind: "internal" })
  })

  it.each([undefined, "", "Bearer token-of-ad", "Bearer token-of-adaa", "Bearer TOKEN-OF-ADA", "token-of-ada"])(
    "are nobody's for %j",
    (authorization) => {
      expect(who(auth, authorization)).toEqual({ kind: "anonymous" })
    },
  )

  it("are nobody's where none is configured", () => {
    expect(who({}, "Bearer ")).toEqual({ kind: "anonymous" })
    expect(who({}, "Bearer undefined")).toEqual({ kind: "anonymous" })
  })

  it("are kept as digests only", () => {
    const authenticator = apiKeys(settingsForTests({ Auth: auth }).Auth)
    expect(JSON.stringify(authenticator)).not.toContain("token-of")
  })
})

describe("a bearer header", () => {
  it.each([
    ["Bearer abc", "abc"],
    ["bearer   abc", "abc"],
    ["BEARER a.b-c_d~e+f/g=", "a.b-c_d~e+f/g="],
    ["Bearer a b", undefined],
    ["Bearer", undefined],
    ["Basic abc", undefined],
    ["Bearer a, Bearer b", undefined],
    [`Bearer ${"x".repeat(4_097)}`, undefined],
  ])("%s", (authorization, expected) => {
    expect(credentialsOf(new Headers({ authorization })).bearer).toBe(expected)
  })
})
