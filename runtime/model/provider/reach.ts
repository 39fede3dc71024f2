/** Asks a provider for the list of its models: is it there, and does it take the key? Costs nothing. */
import { Effect, Redacted } from "effect"
import { makeFetch } from "#runtime/model/provider/http.ts"
import { addressOf, type Provider } from "#runtime/model/provider/provider.ts"

export type Reached =
  | { readonly _tag: "Answers"; readonly lists: "model" | "others" | "unknown" }
  | { readonly _tag: "Refused"; readonly status: number }
  | { readonly _tag: "Away" }
  | { readonly _tag: "NoAddress" }

const patience = "8 seconds"

export const reach = (provider: Provider): Effect.Effect<Reached> =>
  Effect.scoped(
    Effect.gen(function* () {
      const address = addressOf(provider)
      if (address === undefined) return { _tag: "NoAddress" } as const
      const fetch = yield* makeFetch
      return yield* Effect.tryPromise(async (signal): Promise<Reached> => {
        const send = await fetch()
        const response = await send(listOf(provider, address), { headers: headersOf(provider), signal })
        if (response.status === 401 || response.status === 403) return { _tag: "Refused", status: response.status }
        if (!response.ok) return { _tag: "Answers", lists: "unknown" }
        return { _tag: "Answers", lists: listed(await response.json().catch(() => undefined), provider.model) }
      }).pipe(
        Effect.timeout(patience),
        Effect.orElseSucceed((): Reached => ({ _tag: "Away" })),
      )
    }),
  )

const listOf = ({ type }: Provider, address: string): string =>
  type === "azure" ? `${address.replace(/\/openai(?:\/v1)?$/, "")}/openai/v1/models` : `${address}/models`

const headersOf = ({ type, apiKey, headers }: Provider): Record<string, string> => {
  const own = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, Redacted.value(value)]))
  if (apiKey === null) return own
  const key = Redacted.value(apiKey)
  switch (type) {
    case "openai":
      return { authorization: `Bearer ${key}`, ...own }
    case "azure":
      return { "api-key": key, ...own }
    case "anthropic":
      return { "x-api-key": key, "anthropic-version": "2023-06-01", ...own }
  }
}

/** A list that has no model with the name may be a page of many, or of deployments with other names. */
const listed = (body: unknown, model: string | null): "model" | "others" | "unknown" => {
  const data: unknown = typeof body === "object" && body !== null ? Reflect.get(body, "data") : undefined
  if (!Array.isArray(data) || model === null) return "unknown"
  return data.some((entry) => typeof entry === "object" && entry !== null && Reflect.get(entry, "id") === model)
    ? "model"
    : "others"
}
