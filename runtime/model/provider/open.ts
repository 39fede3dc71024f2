/**
 * The packages that speak to the providers, each loaded when it is first needed. Only their streaming call is
 * used: tools are told to the model, and never run by a package. No package looks into the environment, since
 * every setting that it would look for there is given.
 */
import type { LanguageModelV4 } from "@ai-sdk/provider"
import { Redacted } from "effect"
import type { Fetch } from "#runtime/model/provider/http.ts"
import type { Provider } from "#runtime/model/provider/provider.ts"

/** Needs an address (`addressOf`). */
export const openModel = async (
  provider: Provider,
  address: string,
  modelId: string,
  fetch: Fetch,
): Promise<LanguageModelV4> => {
  const apiKey = provider.apiKey === null ? "" : Redacted.value(provider.apiKey)
  const headers = Object.fromEntries(
    Object.entries(provider.headers).map(([name, value]) => [name, Redacted.value(value)]),
  )
  switch (provider.type) {
    case "openai": {
      if (provider.wireApi === "completions" && !isOpenAi(address)) {
        const { createOpenAICompatible } = await import("@ai-sdk/openai-compatible")
        return createOpenAICompatible({
          name: "provider",
          baseURL: address,
          apiKey,
          headers,
          fetch,
          includeUsage: true,
        })(modelId)
      }
      const { createOpenAI } = await import("@ai-sdk/openai")
      const openai = createOpenAI({ baseURL: address, apiKey, headers, fetch })
      return provider.wireApi === "responses" ? openai.responses(modelId) : openai.chat(modelId)
    }
    case "azure": {
      const { createAzure } = await import("@ai-sdk/azure")
      const dated = provider.wireApi === "completions" && /^\d{4}-/.test(provider.azureApiVersion ?? "")
      const azure = createAzure({
        baseURL: azureAddress(address, dated),
        apiKey,
        headers,
        fetch,
        ...(provider.azureApiVersion === null ? {} : { apiVersion: provider.azureApiVersion }),
        useDeploymentBasedUrls: dated,
      })
      return provider.wireApi === "responses" ? azure.responses(modelId) : azure.chat(modelId)
    }
    case "anthropic": {
      const { createAnthropic } = await import("@ai-sdk/anthropic")
      return createAnthropic({ baseURL: address, apiKey, headers, fetch })(modelId)
    }
  }
}

/** Its own package knows which of OpenAI's models want which parameters; other servers want the common ones. */
const isOpenAi = (address: string): boolean => /(?:^|\.)openai\.com$/.test(new URL(address).hostname)

/**
 * Deployments of a dated version are below `/openai`, everything of the version that has no date below
 * `/openai/v1`. Both may be left out of the setting.
 */
const azureAddress = (address: string, dated: boolean): string => {
  const root = address.replace(/\/openai(?:\/v1)?$/, "")
  return dated ? `${root}/openai` : `${root}/openai/v1`
}
