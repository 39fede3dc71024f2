import { expect, it } from "vitest"
import { windowAt } from "./window.ts"

const friday = { Day: "friday", FromHour: 15, ToHour: 24 } as const

it.each([
  ["2026-11-20T14:59:59Z", false],
  ["2026-11-20T15:00:00Z", true],
  ["2026-11-20T23:59:59Z", true],
  ["2026-11-21T15:00:00Z", false],
])("at %s a window of Friday afternoon is open: %s", (time, open) => {
  expect(windowAt([friday], new Date(time)) !== undefined).toBe(open)
})

it("is never frozen without windows", () => {
  expect(windowAt([], new Date(0))).toBeUndefined()
})
