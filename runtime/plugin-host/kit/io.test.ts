/** Policies that ask for more than their question, in both languages: types, build and cases. */
import { mkdir, readFile, rm, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { Effect } from "effect"
import { describe, expect, it } from "vitest"
import { buildPolicy } from "#runtime/plugin-host/kit/build.ts"
import { entryOf, type Language } from "#runtime/plugin-host/kit/folder.ts"
import { policyHarness } from "#runtime/plugin-host/kit/harness.ts"
import { newPolicy } from "#runtime/plugin-host/kit/new-policy.ts"
import { temporaryFolder } from "#test/support/temporary-folder.ts"

const sources: Readonly<Record<Language, string>> = {
  ts: `
import type { Answer, Ask } from "./question.ts"
export const decide = ({ toolName }: Ask): Answer => {
  const kept = kv.get("count")
  if (!kept.ok) return { decision: "refuse", reason: kept.reason }
  kv.set("count", String(Number(kept.value ?? "0") + 1), kept.value)
  const said = http({ url: \`https://api.example.com/\${toolName}\`, method: "POST", body: "ü", headers: { "x-count": kept.value ?? "" } })
  if (!said.ok) return { decision: "refuse", reason: said.message }
  return said.status === 200 ? { decision: "allow" } : { decision: "refuse", reason: said.body }
}
`,
  as: `
import { HttpRequest, http, kv } from "./io"
import { allow, ask, refuse } from "./question"
export function decide(): i32 {
  const kept = kv.get("count")
  if (!kept.ok) return refuse(kept.reason)
  const before = kept.value
  const count = before === null ? "" : before
  kv.setIf("count", ((count == "" ? 0 : i32(parseInt(count))) + 1).toString(), before)
  const request = new HttpRequest("https://api.example.com/" + ask().toolName).header("x-count", count)
  request.method = "POST"
  request.body = "ü"
  const said = http(request)
  if (!said.ok) return refuse(said.message)
  return said.status == 200 ? allow() : refuse(said.body)
}
`,
}

const permissions = { net: ["https://api.example.com"], kv: true }

/** The requests, as JSON, that both are expected to make. */
const conversation = (kept: string | null, answer: unknown) => [
  { call: "kv", request: { do: "get", key: "count" }, answer: { ok: true, value: kept } },
  {
    call: "kv",
    request: { do: "set", key: "count", value: String(Number(kept ?? "0") + 1), if: kept },
    answer: { ok: true, done: true },
  },
  {
    call: "http",
    request: { url: "https://api.example.com/write", method: "POST", body: "ü", headers: { "x-count": kept ?? "" } },
    answer,
  },
]

const policyFolder = async (language: Language, asked: object = permissions): Promise<string> => {
  const folder = join(await temporaryFolder(), "asking")
  await Effect.runPromise(newPolicy(folder, "tool.call", language))
  const manifest = JSON.parse(await readFile(join(folder, "plugin.json"), "utf8"))
  manifest.extensions.svc.permissions = asked
  await writeFile(join(folder, "plugin.json"), JSON.stringify(manifest))
  await writeFile(join(folder, entryOf[language]), sources[language])
  await rm(join(folder, "cases"), { recursive: true })
  await mkdir(join(folder, "cases"))
  return folder
}

const writeCase = async (folder: string, name: string, io: unknown, answer: unknown) => {
  const ask = {
    runId: "6f2c7a52-3a52-4a0c-9c1f-3f3f0c5b1a01",
    calledBy: "6f2c7a52-3a52-4a0c-9c1f-3f3f0c5b1a01",
    agentName: "Writer",
    callId: "c1",
    toolName: "write",
    arguments: {},
  }
  await writeFile(join(folder, "cases", `${name}.json`), JSON.stringify({ question: "tool.call", io, ask, answer }))
}

describe.each(["ts", "as"] as const)("a policy in %s that asks for net and kv", (language) => {
  it("is built with them, and its cases say what it is answered", async () => {
    const folder = await policyFolder(language)
    const fine = { ok: true, status: 200, headers: {}, body: "" }
    await writeCase(folder, "allows-what-the-host-allows", conversation("41", fine), { decision: "allow" })
    const refused = (reason: string) => ({ decision: "refuse", reason })
    const forbidden = { ok: true, status: 403, headers: {}, body: "nicht für dich 😀" }
    await writeCase(folder, "refuses-what-the-host-refuses", conversation(null, forbidden), refused(forbidden.body))
    const failed = { ok: false, reason: "timed_out", message: "too late" }
    await writeCase(folder, "refuses-without-the-host", conversation("1", failed), refused("too late"))
    await writeCase(folder, "refuses-without-anything", [], refused("unavailable"))
    await Effect.runPromise(buildPolicy(folder))
    const { run } = await Effect.runPromise(policyHarness({ folder }))
    const results = run()
    expect(results.flatMap(({ name, problem }) => (problem === undefined ? [] : [`${name}: ${problem}`]))).toEqual([])
    expect(results).toHaveLength(4)
  })

  it("is not built where its manifest does not ask for them", async () => {
    const folder = await policyFolder(language, { net: ["https://api.example.com"] })
    const failure = await Effect.runPromise(Effect.flip(buildPolicy(folder)))
    expect(failure.message).toMatch(
      language === "ts" ? /Cannot find name 'kv'/ : /imports svc:io\.kv, which it was not/,
    )
  })
})

it("asks nobody while it is built", async () => {
  const folder = await policyFolder("ts")
  await writeFile(join(folder, "policy.ts"), `const now = kv.get("a")\nexport const decide = () => String(now)`)
  const failure = await Effect.runPromise(Effect.flip(buildPolicy(folder)))
  expect(failure.message).toMatch(/before it is asked a question/)
})
