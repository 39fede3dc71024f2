import { expect, it } from "vitest"
import { limitsOf } from "#runtime/model/limits.ts"

it.each([
  [null, undefined, 128_000, 8_192],
  ["something-new", undefined, 128_000, 8_192],
  ["gpt-4o-mini", undefined, 128_000, 16_384],
  ["gpt-4", undefined, 8_192, 4_096],
  ["openai/GPT-4.1-mini", undefined, 1_047_576, 32_768],
  ["claude-3-5-haiku-latest", undefined, 200_000, 8_192],
  ["claude-sonnet-4-5", undefined, 200_000, 32_000],
  ["qwen3-coder:30b", undefined, 262_144, 65_536],
  ["qwen3-coder:30b", 32_768, 32_768, 16_384],
  ["gpt-4", 4_096, 4_096, 2_048],
])("%s, told %s: reads %s and writes %s tokens", (modelId, told, contextTokens, outputTokens) => {
  expect(limitsOf(modelId, told)).toEqual({ contextTokens, outputTokens })
})
