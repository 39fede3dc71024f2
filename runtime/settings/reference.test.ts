import { readFileSync } from "node:fs"
import { expect, it } from "vitest"
import { settingsReference } from "#runtime/settings/reference.ts"

it("docs/settings.md says what the service reads (npm run docs writes it)", () => {
  expect(readFileSync(new URL("../../docs/settings.md", import.meta.url), "utf8")).toBe(settingsReference())
})
