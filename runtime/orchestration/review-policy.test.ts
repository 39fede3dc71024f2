import { Result } from "effect"
import { describe, expect, it } from "vitest"
import { builtInPolicy, gatesOf, readPolicy } from "#runtime/orchestration/review-policy.ts"

const strict = `
name: strict
description: With a critic
steps:
  - { kind: human-review, label: Release board }
  - { kind: rubberduck }
`

describe("a review policy", () => {
  it("adds a critic, and takes nothing away: what is always asked comes first", () => {
    expect(gatesOf(builtInPolicy)).toEqual(["rai", "build-test"])
    expect(gatesOf(Result.getOrThrow(readPolicy("strict", strict)))).toEqual(["rai", "build-test", "rubberduck"])
  })

  it.each([
    ["is not YAML", "a: [", "It is not valid YAML."],
    ["bears another name than its file", strict.replace("name: strict", "name: lax"), "Its name is lax"],
    ["has no steps", "name: strict\nsteps: []\n", "steps"],
    ["has a step that nobody knows", "name: strict\nsteps: [{ kind: coin-toss }]\n", 'Expected "rai"'],
    ["has a member that nobody knows", `${strict}skip: rai\n`, "skip"],
    ["refers to itself", "name: strict\nsteps: [&a { kind: rai }, *a]\n", "It is not valid YAML."],
    ["is empty", "", "Expected object"],
  ])("is refused where it %s", (_, text, problem) => {
    const read = readPolicy("strict", text)
    expect(Result.isFailure(read) ? read.failure : "").toContain(problem)
  })
})
