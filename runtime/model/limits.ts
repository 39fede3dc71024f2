/** How much known models read and write, by the beginning of their names. What is not known is taken to be small. */
import type { ModelLimits } from "#core/wire/model.ts"

/** Tokens in all, tokens of an answer; of two that fit the longer name counts. As published in 2026. */
const known: ReadonlyArray<readonly [prefix: string, contextTokens: number, outputTokens: number]> = [
  ["gpt-5", 400_000, 128_000],
  ["gpt-4.1", 1_047_576, 32_768],
  ["gpt-4o", 128_000, 16_384],
  ["gpt-4-turbo", 128_000, 4_096],
  ["gpt-4", 8_192, 4_096],
  ["gpt-3.5", 16_385, 4_096],
  ["gpt-oss", 131_072, 32_768],
  ["o1", 200_000, 100_000],
  ["o3", 200_000, 100_000],
  ["o4", 200_000, 100_000],
  ["claude", 200_000, 32_000],
  ["claude-3-", 200_000, 4_096],
  ["claude-3-5", 200_000, 8_192],
  ["claude-3-7", 200_000, 64_000],
  ["gemini", 1_048_576, 65_536],
  ["deepseek", 128_000, 8_192],
  ["qwen", 32_768, 8_192],
  ["qwen3", 131_072, 16_384],
  ["qwen3-coder", 262_144, 65_536],
  ["llama3", 8_192, 4_096],
  ["llama3.", 128_000, 8_192],
  ["llama-3", 128_000, 8_192],
  ["llama-4", 128_000, 8_192],
  ["mistral", 32_768, 8_192],
  ["mistral-large", 128_000, 16_384],
  ["codestral", 128_000, 16_384],
  ["devstral", 128_000, 16_384],
  ["kimi-k2", 131_072, 16_384],
  ["glm-4", 128_000, 16_384],
  ["grok", 131_072, 16_384],
]

const unknown: ModelLimits = { contextTokens: 128_000, outputTokens: 8_192 }

/** `contextTokens` is the setting that knows better. Vendors before the name, as in `openai/gpt-5`, do not count. */
export const limitsOf = (modelId: string | null, contextTokens?: number): ModelLimits => {
  const name = modelId?.toLowerCase().split("/").at(-1) ?? ""
  const found = known
    .filter(([prefix]) => name.startsWith(prefix))
    .reduce<ModelLimits & { readonly length: number }>(
      (best, [prefix, context, output]) =>
        prefix.length > best.length ? { contextTokens: context, outputTokens: output, length: prefix.length } : best,
      { ...unknown, length: 0 },
    )
  const context = contextTokens ?? found.contextTokens
  return { contextTokens: context, outputTokens: Math.min(found.outputTokens, Math.floor(context / 2)) }
}
