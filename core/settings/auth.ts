/** Who is let in. With no credential configured, every authenticated request is refused with 401. */
import { Redacted } from "effect"
import { formOf, list, optionalText, requiredSecret, secret, section, texts } from "#core/settings/field.ts"

/** What an `Authorization: Bearer` header can carry (RFC 6750, b68token, and the other visible characters). */
const token = formOf("a token of visible ASCII characters, at most 512", /^[\x21-\x7e]{1,512}$/)
/** Names that the service gives meaning to itself. */
const user = formOf(
  "a user name of at most 256 characters that is not reserved by the service",
  /^(?!(?:svc-internal|anonymous)$)\S(?:.{0,254}\S)?$/i,
)

const Key = section("One API key.", {
  Token: requiredSecret("What the client sends as its bearer token.", token),
  User: user.annotate({ description: "The user who is accountable for what is done with the key." }),
})

/** A key stands for one user only: a second use of it would be a silent choice between two. */
const everyKeyOnce = (
  keys: ReadonlyArray<readonly [path: ReadonlyArray<PropertyKey>, key: Redacted.Redacted<string> | undefined]>,
) => {
  const seen = new Set<string>()
  return keys.flatMap(([path, key]) => {
    if (key === undefined) return []
    const value = Redacted.value(key)
    if (seen.has(value)) return [{ path, issue: "This key is configured twice" }]
    seen.add(value)
    return []
  })
}

export const Auth = section(
  "Who is let in.",
  {
    Keys: list("API keys with their users.", Key),
    ApiKey: secret("A single API key, instead of a list; needs Auth:User.", token),
    User: optionalText("The user of Auth:ApiKey.", user),
    InternalKey: secret("The key of the service's own pods (SVC_API_KEY); never for people or clients.", token),
    PlatformAdministrators: texts("Users who may inspect every project and delete any run.", user),
  },
  (auth) => [
    ...(auth.ApiKey !== undefined && auth.User === undefined
      ? [{ path: ["User"], issue: "Auth:ApiKey needs Auth:User, the user whom the key stands for" }]
      : []),
    ...(auth.ApiKey === undefined && auth.User !== undefined
      ? [{ path: ["ApiKey"], issue: "Auth:User needs Auth:ApiKey, the key of that user" }]
      : []),
    ...everyKeyOnce([
      ...auth.Keys.map((key, index) => [["Keys", index, "Token"], key.Token] as const),
      [["ApiKey"], auth.ApiKey],
      [["InternalKey"], auth.InternalKey],
    ]),
  ],
)
