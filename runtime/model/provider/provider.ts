/** A provider of models, with all that is needed to ask it. Where it was configured does not matter any more. */
import { Redacted } from "effect"
import type { SettingsValues } from "#core/settings.ts"

export const providerTypes = ["openai", "azure", "anthropic"] as const
export type ProviderType = (typeof providerTypes)[number]

export const wireApis = ["completions", "responses"] as const
export type WireApi = (typeof wireApis)[number]

export interface Provider {
  readonly type: ProviderType
  /** For `openai` and `azure`. */
  readonly wireApi: WireApi
  /** Null: the provider's own address. */
  readonly baseUrl: string | null
  /** Null: none is sent. */
  readonly apiKey: Redacted.Redacted<string> | null
  readonly headers: Readonly<Record<string, Redacted.Redacted<string>>>
  readonly azureApiVersion: string | null
  /** The model of a request that names none. */
  readonly model: string | null
}

/** Null where the settings have none: neither an address nor a key. */
export const hostedProvider = ({ Providers: { Hosted } }: SettingsValues): Provider | null =>
  Hosted.BaseUrl === undefined && Hosted.ApiKey === undefined
    ? null
    : {
        type: "openai",
        wireApi: "completions",
        baseUrl: Hosted.BaseUrl ?? null,
        apiKey: Hosted.ApiKey ?? null,
        headers: {},
        azureApiVersion: null,
        model: Hosted.Model ?? null,
      }

/** Null where the settings have none: neither an address nor a key. */
export const byokProvider = ({ Providers: { Byok } }: SettingsValues): Provider | null =>
  Byok.BaseUrl === undefined && Byok.ApiKey === undefined
    ? null
    : {
        type: Byok.Type,
        wireApi: Byok.WireApi,
        baseUrl: Byok.BaseUrl ?? null,
        apiKey: Byok.ApiKey ?? null,
        headers: Byok.Headers ?? {},
        azureApiVersion: Byok.AzureApiVersion ?? null,
        model: Byok.Model ?? null,
      }

const ownAddresses = {
  openai: "https://api.openai.com/v1",
  anthropic: "https://api.anthropic.com/v1",
} as const

/** Undefined for Azure without an address: each customer has another there. */
export const addressOf = ({ type, baseUrl }: Pick<Provider, "type" | "baseUrl">): string | undefined =>
  baseUrl?.replace(/\/+$/, "") ?? (type === "azure" ? undefined : ownAddresses[type])

/** `openai at api.openai.com`, for messages: no path, no credential. */
export const nameOf = (provider: Provider): string => {
  const address = addressOf(provider)
  return address === undefined ? provider.type : `${provider.type} at ${new URL(address).host}`
}

/** All values that must never be shown. */
export const secretsOf = ({ apiKey, headers }: Provider): ReadonlyArray<string> =>
  [...(apiKey === null ? [] : [apiKey]), ...Object.values(headers)].map((secret) => Redacted.value(secret))
