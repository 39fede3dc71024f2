import { mkdir, readFile, symlink, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { Effect } from "effect"
import { describe, expect, it } from "vitest"
import { questions } from "#policies/questions.ts"
import { buildPolicy } from "#runtime/plugin-host/kit/build.ts"
import { languages } from "#runtime/plugin-host/kit/folder.ts"
import { policyHarness } from "#runtime/plugin-host/kit/harness.ts"
import { newPolicy } from "#runtime/plugin-host/kit/new-policy.ts"
import { temporaryFolder } from "#test/support/temporary-folder.ts"

const mostBytes = { as: 20_000, ts: 800_000 } as const

const messageOf = async (effect: Effect.Effect<unknown, { readonly message: string }>) =>
  (await Effect.runPromise(Effect.flip(effect))).message

describe.each(languages)("a new policy in %s", (language) => {
  it.each(questions.map(({ name }) => name))("for %s builds and passes its own cases", async (question) => {
    const folder = join(await temporaryFolder(), "my-policy")
    await Effect.runPromise(newPolicy(folder, question, language))
    const { found } = await Effect.runPromise(buildPolicy(folder))
    expect(found.wasm.length).toBeLessThan(mostBytes[language])
    const { run } = await Effect.runPromise(policyHarness({ folder }))
    const results = run()
    expect(results).toHaveLength(2)
    expect(results.flatMap(({ problem }) => problem ?? [])).toEqual([])
  })

  it("is built to the same bytes again", async () => {
    const folder = join(await temporaryFolder(), "my-policy")
    await Effect.runPromise(newPolicy(folder, "tool.call", language))
    const first = await Effect.runPromise(buildPolicy(folder))
    const second = await Effect.runPromise(buildPolicy(folder))
    expect(second.found.manifest.sha256).toBe(first.found.manifest.sha256)
    expect(second.found.manifest.digest).toBe(first.found.manifest.digest)
  })
})

describe("svc plugin new", () => {
  it("overwrites nothing", async () => {
    const folder = join(await temporaryFolder(), "my-policy")
    await mkdir(folder)
    await writeFile(join(folder, "policy.ts"), "mine")
    expect(await messageOf(newPolicy(folder, "tool.call", "ts"))).toMatch(/is not empty/)
    expect(await readFile(join(folder, "policy.ts"), "utf8")).toBe("mine")
  })

  it("takes no name that svc would refuse later", async () => {
    const folder = join(await temporaryFolder(), "My Policy")
    expect(await messageOf(newPolicy(folder, "tool.call", "ts"))).toMatch(/kebab-case/)
  })

  it("names the questions where one is unknown", async () => {
    const folder = join(await temporaryFolder(), "my-policy")
    expect(await messageOf(newPolicy(folder, "tool.cal", "ts"))).toMatch(/no question tool\.cal.*tool\.call/)
  })
})

describe("svc plugin build", () => {
  it("says where the types do not fit", async () => {
    const folder = join(await temporaryFolder(), "my-policy")
    await Effect.runPromise(newPolicy(folder, "tool.call", "ts"))
    await writeFile(join(folder, "policy.ts"), 'export const decide = (): { decision: "perhaps" } => 1\n')
    expect(await messageOf(buildPolicy(folder))).toMatch(/policy\.ts\(1,\d+\): error TS2322/)
  })

  it("writes nothing outside of the folder", async () => {
    const parent = await temporaryFolder()
    const folder = join(parent, "my-policy")
    await Effect.runPromise(newPolicy(folder, "tool.call", "as"))
    await writeFile(join(parent, "mine.wasm"), "mine")
    const manifest = await readFile(join(folder, "plugin.json"), "utf8")
    await writeFile(join(folder, "plugin.json"), manifest.replace("./policy.wasm", "../mine.wasm"))
    expect(await messageOf(buildPolicy(folder))).toMatch(/Expected a file beside it/)
    await writeFile(join(folder, "plugin.json"), manifest)
    await symlink(join(parent, "mine.wasm"), join(folder, "policy.wasm"))
    expect(await messageOf(buildPolicy(folder))).toMatch(/policy\.wasm cannot be written/)
    expect(await readFile(join(parent, "mine.wasm"), "utf8")).toBe("mine")
  })

  it("says what AssemblyScript does not understand", async () => {
    const folder = join(await temporaryFolder(), "my-policy")
    await Effect.runPromise(newPolicy(folder, "tool.call", "as"))
    await writeFile(join(folder, "assembly/policy.ts"), "export function decide(): i32 { return missing }\n")
    expect(await messageOf(buildPolicy(folder))).toMatch(/Cannot find name 'missing'[\s\S]*assembly\/policy\.ts/)
  })
})
