/** Every way in which an exchange with a provider fails, as one of the named failures. */
import { Data } from "effect"
import { ModelFailed, type modelFailureKinds } from "#core/wire/model.ts"
import { NoStream } from "#runtime/model/provider/no-stream.ts"
import { type Problem, problemOf } from "#runtime/model/provider/problem.ts"

export interface ProviderFault {
  readonly failed: ModelFailed
  /** Milliseconds that the provider wants to be left alone. */
  readonly retryAfter: number | null
}

/** One try that failed. */
export class AttemptFailed extends Data.TaggedError("AttemptFailed")<ProviderFault> {}

type Kind = (typeof modelFailureKinds)[number]

interface Meaning {
  readonly kind: Kind
  readonly retryable: boolean
  readonly says: string
}

const meaning = (kind: Kind, says: string, retryable = false): Meaning => ({ kind, says, retryable })

const ownError = meaning("ProviderUnavailable", "an error of its own", true)

/** What is said means more than the status: the first that fits, by codes and text together. */
const sayings: ReadonlyArray<readonly [form: RegExp, meaning: Meaning]> = [
  [
    /context_length_exceeded|model_max_prompt_tokens_exceeded|maximum context length|context window|prompt is too long|exceeds? the (?:available )?context|input is too long|too many (?:input )?tokens|request_too_large/,
    meaning("TooLong", "the request is longer than the model can read"),
  ],
  [
    /content_filter|content_policy|responsibleaipolicyviolation|content management policy|safety system/,
    meaning("Refused", "its content filter refused the request"),
  ],
  [
    /insufficient_quota|billing|credit balance|quota_exceeded|payment required/,
    meaning("RateLimited", "no quota or credit is left"),
  ],
  [/rate_limit|too many requests|ratelimit/, meaning("RateLimited", "too many requests", true)],
  [
    /overloaded|engine_overloaded|server is busy|service_unavailable/,
    meaning("ProviderUnavailable", "it is overloaded", true),
  ],
  [
    // a dot that ends no sentence is part of the model's name
    /model_not_found|model_not_supported|deploymentnotfound|invalid_model|model(?: id)?(?:[^.]|\.(?! )){0,120}(?:does not exist|not found|not available|is not supported)|not a valid model|not_found_error model/,
    meaning("UnavailableModel", "it does not have the model"),
  ],
  [
    /invalid_api_key|authentication_error|permission_error|invalid x-api-key|api key not valid|(?:invalid|incorrect) api key/,
    meaning("Authorization", "it refused the credential"),
  ],
  [
    /does not support tools|tool choice requires|tools? (?:use|calling) is not supported/,
    meaning("Configuration", "the model cannot call tools there"),
  ],
  [/server_error|api_error|internal_error|timeout_error/, ownError],
  [/invalid_request_error|invalid_prompt/, meaning("Configuration", "it does not understand the request")],
]

const byStatus = (status: number): Meaning => {
  if (status === 401 || status === 403 || status === 407) return meaning("Authorization", "it refused the credential")
  if (status === 402) return meaning("RateLimited", "no quota or credit is left")
  if (status === 404) return meaning("Configuration", "there is nothing at the address; is the base URL right?")
  if (status === 408 || status === 409 || status === 425)
    return meaning("ProviderUnavailable", "it was not ready", true)
  if (status === 413) return meaning("TooLong", "the request is larger than it accepts")
  if (status === 429) return meaning("RateLimited", "too many requests", true)
  if (status >= 500) return ownError
  if (status >= 300 && status < 400)
    return meaning("Configuration", "a redirect, which is not followed; is the base URL right?")
  return meaning("Configuration", "it does not understand the request")
}

/** Statuses that say it best themselves, whatever else is said. */
const saidByStatus = (status: number): boolean => status === 401 || (status >= 300 && status < 400)

const meaningOf = (status: number | undefined, { codes, text }: Problem): Meaning => {
  if (status !== undefined && saidByStatus(status)) return byStatus(status)
  const said = `${codes.join(" ").toLowerCase()} ${text}`
  const found = sayings.find(([form]) => form.test(said))?.[1]
  if (status === undefined) return found ?? meaning("ProviderUnavailable", "the stream broke", true)
  // an error of the server is worth another try, unless it says that none will help
  if (status >= 500 && found?.kind !== "TooLong" && found?.kind !== "Refused") return byStatus(status)
  // some call every error so, also what the client did wrong
  return found === undefined || found === ownError ? byStatus(status) : found
}

const fault = (provider: string, { kind, says, retryable }: Meaning, detail = "", retryAfter: number | null = null) =>
  new AttemptFailed({
    failed: new ModelFailed({ kind, retryable, message: `The provider (${provider}): ${says}${detail}.` }),
    retryAfter,
  })

/** `provider` is its name for messages; `now` is for dates in headers, in milliseconds. */
export const faultOf = (provider: string, error: unknown, now: number): AttemptFailed => {
  if (error instanceof AttemptFailed) return error
  const status = numberIn(error, "statusCode")
  const headers = objectIn(error, "responseHeaders")
  if (status !== undefined && !(status >= 200 && status < 300)) {
    const problem = problemOf(Reflect.get(Object(error), "responseBody"))
    const details = [String(status), problem.codes[0], requestId(headers)].filter((detail) => detail !== undefined)
    return fault(provider, meaningOf(status, problem), ` (${details.join(", ")})`, retryAfterOf(headers, now))
  }
  const other = noStreamIn(error)
  if (other !== undefined) return fault(provider, meaningOfOther(other))
  const cause = causeOf(error)
  if (cause === "AnswerTooLarge") return fault(provider, meaning("ProviderUnavailable", "its answer is too large"))
  if (status === undefined && (cause !== undefined || nameIn(error) === "AI_APICallError")) {
    const detail = cause === undefined ? "" : ` (${cause})`
    return fault(provider, meaning("ProviderUnavailable", "it cannot be reached", true), detail)
  }
  if (cause !== undefined || !isPlain(error)) return brokenStream(provider)
  const problem = problemOf(error)
  return fault(provider, meaningOf(undefined, problem), problem.codes[0] === undefined ? "" : ` (${problem.codes[0]})`)
}

/** An error may come with the status of a success; anything else is the page of something that is no provider. */
const meaningOfOther = ({ contentType, body }: NoStream): Meaning => {
  const { codes, text } = problemOf(body)
  const said = `${codes.join(" ").toLowerCase()} ${text}`
  const found = contentType === "application/json" ? sayings.find(([form]) => form.test(said))?.[1] : undefined
  return found ?? meaning("Configuration", `it answers with ${contentType} instead of a stream: check the base URL`)
}

const noStreamIn = (error: unknown): NoStream | undefined => {
  let current = error
  for (let depth = 0; depth < 8 && current instanceof Error; depth++) {
    if (current instanceof NoStream) return current
    current = current.cause
  }
  return undefined
}

/** An answer that ends too early, or is not what it should be. */
export const brokenStream = (provider: string): AttemptFailed =>
  fault(provider, meaning("ProviderUnavailable", "the stream broke", true))

export const silent = (provider: string): AttemptFailed =>
  fault(provider, meaning("ProviderUnavailable", "it fell silent", true))

export const tooSlow = (provider: string): AttemptFailed =>
  fault(provider, meaning("ProviderUnavailable", "its answer took too long", true))

/** What a provider says in an error part of a stream; errors of the packages are of classes. */
const isPlain = (error: unknown): boolean => typeof error === "string" || !(error instanceof Error)

/** The code of the network's error, or the name of ours, at the end of the chain of causes. */
const causeOf = (error: unknown): string | undefined => {
  let found: string | undefined
  let current = error
  for (let depth = 0; depth < 8 && current instanceof Error; depth++) {
    if (current.name === "AnswerTooLarge") return current.name
    const code: unknown = Reflect.get(current, "code")
    if (typeof code === "string" && /^[A-Z][A-Z0-9_]{2,40}$/.test(code)) found = code
    current = current.cause
  }
  return found
}

const requestId = (headers: object | undefined): string | undefined => {
  const id: unknown = ["x-request-id", "request-id", "apim-request-id"]
    .map((name) => headers && Reflect.get(headers, name))
    .find(Boolean)
  return typeof id === "string" && /^[A-Za-z0-9_-]{1,80}$/.test(id) ? `request ${id}` : undefined
}

const retryAfterOf = (headers: object | undefined, now: number): number | null => {
  const said = (name: string): string | undefined => {
    const value: unknown = headers && Reflect.get(headers, name)
    return typeof value === "string" ? value.trim() : undefined
  }
  const millis = Number(said("retry-after-ms") ?? Number.NaN)
  if (Number.isFinite(millis) && millis >= 0) return millis
  const after = said("retry-after")
  if (after === undefined || after === "") return null
  const seconds = Number(after)
  if (Number.isFinite(seconds)) return Math.max(seconds * 1_000, 0)
  const date = Date.parse(after)
  return Number.isNaN(date) ? null : Math.max(date - now, 0)
}

const nameIn = (error: unknown): string | undefined => (error instanceof Error ? error.name : undefined)

const numberIn = (value: unknown, key: string): number | undefined => {
  const found: unknown = typeof value === "object" && value !== null ? Reflect.get(value, key) : undefined
  return typeof found === "number" ? found : undefined
}

const objectIn = (value: unknown, key: string): object | undefined => {
  const found: unknown = typeof value === "object" && value !== null ? Reflect.get(value, key) : undefined
  return typeof found === "object" && found !== null ? found : undefined
}
