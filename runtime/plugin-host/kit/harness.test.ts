import { mkdtemp, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Effect } from "effect"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { buildPolicy } from "#runtime/plugin-host/kit/build.ts"
import { policyHarness } from "#runtime/plugin-host/kit/harness.ts"
import { newPolicy } from "#runtime/plugin-host/kit/new-policy.ts"

let folder: string
beforeAll(async () => {
  folder = join(await mkdtemp(join(tmpdir(), "svc-harness-")), "my-policy")
  await Effect.runPromise(newPolicy(folder, "review.accept", "ts"))
  await Effect.runPromise(buildPolicy(folder))
})
afterAll(() => rm(join(folder, ".."), { recursive: true, force: true }))

const caseFile = () => join(folder, "cases", "own.json")
const ask = {
  runId: "r",
  projectId: null,
  scope: "run",
  reviewer: "grace",
  submittedBy: "ada",
  treeHash: null,
  targetBranch: null,
  files: [],
}
const withCase = async (given: unknown) => {
  await writeFile(caseFile(), JSON.stringify(given))
  return policyHarness({ folder })
}
const ownProblem = async (given: unknown) => {
  const { run } = await Effect.runPromise(await withCase(given))
  return run().find(({ name }) => name === "own")?.problem
}
const refusal = async (given: unknown) => (await Effect.runPromise(Effect.flip(await withCase(given)))).message

describe("the harness of a policy", () => {
  it("shows what was expected beside what came", async () => {
    expect(await ownProblem({ question: "review.accept", ask, answer: { decision: "refuse", reason: "No." } })).toBe(
      'expected {"decision":"refuse","reason":"No."}\n       got {"decision":"allow"}',
    )
    expect(await ownProblem({ question: "review.accept", ask, answer: null })).toMatch(/expected null/)
    expect(await ownProblem({ question: "review.accept", ask, answer: { decision: "allow" } })).toBeUndefined()
  })

  it("takes no case that svc would never ask, or never take for an answer", async () => {
    const { reviewer: _, ...incomplete } = ask
    const answer = { decision: "allow" }
    expect(await refusal({ question: "review.accept", ask: incomplete, answer })).toMatch(/own\.json: ask.*reviewer/s)
    expect(await refusal({ question: "review.accept", ask: { ...ask, extra: 1 }, answer })).toMatch(/extra/)
    expect(await refusal({ question: "review.accept", ask, answer: { decision: "maybe" } })).toMatch(
      /own\.json: answer/,
    )
    expect(await refusal({ question: "review.acept", ask, answer })).toMatch(/no question review\.acept/)
    expect(await refusal({ question: "review.accept", asks: ask, answer })).toMatch(/own\.json/)
  })

  it("runs with the limits it is given", async () => {
    await rm(caseFile(), { force: true })
    const { run } = await Effect.runPromise(policyHarness({ folder, limits: { fuel: 1_000 } }))
    expect(run().map(({ problem }) => problem)).toEqual([
      expect.stringContaining("out_of_fuel"),
      expect.stringContaining("out_of_fuel"),
    ])
  })

  it("runs nothing but what plugin.json names by digest", async () => {
    await rm(caseFile(), { force: true })
    await writeFile(join(folder, "policy.wasm"), "\0asm\x01\0\0\0")
    expect((await Effect.runPromise(Effect.flip(policyHarness({ folder })))).message).toMatch(
      /not the one that the manifest names/,
    )
  })
})
