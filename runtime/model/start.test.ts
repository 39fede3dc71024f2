/** The service starts fast because the packages of the providers are loaded with the first request to one. */
import { readFileSync } from "node:fs"
import { glob } from "node:fs/promises"
import { join } from "node:path"
import { expect, it } from "vitest"

const files = await Array.fromAsync(glob("**/*.ts", { cwd: import.meta.dirname }))
const sources = files.filter((file) => !file.endsWith(".test.ts"))
const heavy = /^(?:import|export) (?!type )[^"']*from "(?:@ai-sdk\/[^"]+|undici)"/m

it("imports no provider's package when it is imported", () => {
  const texts = sources.map((file) => [file, readFileSync(join(import.meta.dirname, file), "utf8")] as const)
  expect(texts.filter(([, text]) => text.includes("@ai-sdk/")).length).toBeGreaterThan(1)
  expect(texts.flatMap(([file, text]) => (heavy.test(text) ? [file] : []))).toEqual([])
  expect(heavy.test('import { createOpenAI } from "@ai-sdk/openai"')).toBe(true)
})
