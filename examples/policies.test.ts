/** Builds each example as its author would, in a copy, and runs its cases where policies run. */
import { cp } from "node:fs/promises"
import { join } from "node:path"
import { Effect } from "effect"
import { describe, expect, it } from "vitest"
import { questionNamed } from "#policies/questions.ts"
import { type Built, buildPolicy } from "#runtime/plugin-host/kit/build.ts"
import { candidateOf } from "#runtime/plugin-host/kit/candidate.ts"
import { policyHarness } from "#runtime/plugin-host/kit/harness.ts"
import { temporaryFolder } from "#test/support/temporary-folder.ts"

const examples = join(import.meta.dirname, "policies")

const built = async (name: string): Promise<Built & { readonly folder: string }> => {
  const folder = join(await temporaryFolder(), name)
  await cp(join(examples, name), folder, {
    recursive: true,
    filter: (path) => !/node_modules|\.wasm$/.test(path.slice(examples.length)),
  })
  return { ...(await Effect.runPromise(buildPolicy(folder))), folder }
}

describe("the example policies", () => {
  it.each(["steering", "rai", "path-guard", "four-eyes"])("%s builds and passes its cases", async (name) => {
    const { folder } = await built(name)
    const { run, cases } = await Effect.runPromise(policyHarness({ folder }))
    expect(cases.length).toBeGreaterThanOrEqual(4)
    expect(
      run().flatMap((result) => (result.problem === undefined ? [] : [`${result.name}: ${result.problem}`])),
    ).toEqual([])
  })

  it("rai looks at 60 KB of a diff within its fuel", async () => {
    const { found, admitted } = await built("rai")
    const rai = await Effect.runPromise(candidateOf(found.manifest, admitted))
    const question = questionNamed("rai.review")
    if (question === undefined) throw new Error("the question is gone")
    const added = "+  const answer = compute(42, other.value) // why\n".repeat(1_200)
    const diff = `diff --git a/a.ts b/a.ts\n--- a/a.ts\n+++ b/a.ts\n@@ -1,2 +1,1200 @@\n${added}`
    const input = JSON.stringify({ runId: "r", workPlanId: null, treeHash: null, files: [], diff, replies: [] })
    expect(input.length).toBeGreaterThan(60_000)
    expect(rai.ask(question, input)).toMatchObject({ kind: "no opinion" })
  })
})
