/** Providers as administrators write and see them. */
import { Schema } from "effect"
import type { Issue } from "#core/refusal.ts"
import { formOf, httpUrl, modelId } from "#core/settings/field.ts"
import type { ProviderInput, ProviderSummary } from "#runtime/model/byok/providers.ts"
import { providerTypes, wireApis } from "#runtime/model/provider/provider.ts"

/** Stands for a value that is stored and not shown; sent back, it keeps the value. */
export const hidden = "***"

const maxHeaders = 50

const optional = <S extends Schema.Top>(schema: S) => Schema.optionalKey(Schema.NullOr(schema))

const headerName = /^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,128}$/
/** What a header may hold: printable ASCII. */
const secretValue = formOf("printable ASCII", /^[\x20-\x7e]{1,4096}$/)

export const ProviderBody = Schema.Struct({
  name: formOf("one line of 1 to 200 characters", /^[^\p{Cc}\u2028\u2029]{1,200}$/u),
  type: Schema.Literals(providerTypes),
  base_url: optional(httpUrl),
  model: optional(modelId),
  wire_api: optional(Schema.Literals(wireApis)),
  azure_api_version: optional(
    formOf("a version such as 2024-10-21 or v1", /^(?:v\d+|\d{4}-\d{2}-\d{2}(?:-preview)?)$/),
  ),
  /** Absent: those that are stored stay. */
  headers: optional(Schema.Record(Schema.String, secretValue)),
  /** Absent: the one that is stored stays. Null takes it away. */
  api_key: optional(secretValue),
})
export type ProviderBody = typeof ProviderBody.Type

export const ProviderAnswer = Schema.Struct({
  id: Schema.String,
  name: Schema.String,
  type: Schema.Literals(providerTypes),
  base_url: Schema.NullOr(Schema.String),
  model: Schema.NullOr(Schema.String),
  wire_api: Schema.Literals(wireApis),
  azure_api_version: Schema.NullOr(Schema.String),
  headers: Schema.Record(Schema.String, Schema.Literal(hidden)),
  has_api_key: Schema.Boolean,
  is_active: Schema.Boolean,
})
export type ProviderAnswer = typeof ProviderAnswer.Type

export const ProviderList = Schema.Struct({
  active_provider_id: Schema.NullOr(Schema.String),
  providers: Schema.Array(ProviderAnswer),
})
export type ProviderList = typeof ProviderList.Type

/** These belong to the connection, not to whoever configures it. */
const ownHeaders = new Set([
  "connection",
  "content-length",
  "content-type",
  "expect",
  "host",
  "keep-alive",
  "te",
  "transfer-encoding",
  "upgrade",
])

/** What the form of the fields does not say. */
export const issuesOf = ({ type, base_url: address, headers }: ProviderBody): ReadonlyArray<Issue> => {
  const issues: Array<Issue> = []
  if (address == null) {
    if (type === "azure")
      issues.push({ path: "body.base_url", message: "A provider of the type azure needs an address." })
  } else if (!URL.canParse(address)) {
    issues.push({ path: "body.base_url", message: "The address cannot be read." })
  } else {
    const { username, password, search, hash } = new URL(address)
    if (username !== "" || password !== "") {
      issues.push({ path: "body.base_url", message: "An address holds no credential: send it as api_key." })
    }
    if (search !== "" || hash !== "") issues.push({ path: "body.base_url", message: "An address ends with its path." })
  }
  const names = Object.keys(headers ?? {})
  if (names.length > maxHeaders) issues.push({ path: "body.headers", message: `At most ${maxHeaders} headers.` })
  for (const name of names) {
    const wrong = (message: string): void => void issues.push({ path: `body.headers.${name.slice(0, 128)}`, message })
    if (!headerName.test(name)) wrong("This is not the name of a header.")
    else if (ownHeaders.has(name.toLowerCase())) wrong("This header belongs to the connection.")
  }
  return issues
}

export const inputOf = (body: ProviderBody): ProviderInput => ({
  name: body.name.trim(),
  type: body.type,
  baseUrl: body.base_url ?? null,
  model: body.model ?? null,
  wireApi: body.wire_api ?? "completions",
  azureApiVersion: body.azure_api_version ?? null,
  apiKey: body.api_key === hidden ? undefined : body.api_key,
  headers:
    body.headers === undefined
      ? undefined
      : Object.fromEntries(
          Object.entries(body.headers ?? {}).map(([name, value]) => [name, value === hidden ? null : value]),
        ),
})

export const answerOf = (provider: ProviderSummary): ProviderAnswer => ({
  id: provider.id,
  name: provider.name,
  type: provider.type,
  base_url: provider.baseUrl,
  model: provider.model,
  wire_api: provider.wireApi,
  azure_api_version: provider.azureApiVersion,
  headers: Object.fromEntries(provider.headerNames.map((name) => [name, hidden])),
  has_api_key: provider.hasApiKey,
  is_active: provider.isActive,
})
