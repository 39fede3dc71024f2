/**
 * What a decision costs: 1 KB of question, 1 KB of answer, the same rule everywhere, in one run:
 *  (a) as a function of this process, between the same JSON;
 *  (b) in WebAssembly as it runs in production: admitted, metered, set back after every answer;
 *  (c) the same module without the meter, by the same steps;
 *  (d) in the Extism SDK's own worker mode.
 * (b) and (c) in AssemblyScript and in TypeScript (QuickJS). Rounds are interleaved, and every second one runs in reverse order.
 */
import { mkdtemp, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import binaryen from "binaryen"
import { Effect } from "effect"
import { createPlugin } from "extism"
import { type BenchOptions, median, percentile, type Report, round } from "#bench/report.ts"
import { buildPolicy } from "#runtime/plugin-host/kit/build.ts"
import type { Language } from "#runtime/plugin-host/kit/folder.ts"
import { newPolicy } from "#runtime/plugin-host/kit/new-policy.ts"
import { type Admitted, admit } from "#runtime/plugin-host/wasm/admission.ts"
import { readAnswer } from "#runtime/plugin-host/wasm/answer.ts"
import { type PolicyHost, policyFunctions, policyGrants } from "#runtime/plugin-host/wasm/extism-abi.ts"
import { defaultLimits } from "#runtime/plugin-host/wasm/limits.ts"
import { defaultPolicyLimits, PolicyCall } from "#runtime/plugin-host/wasm/policy-call.ts"
import { Policy } from "#runtime/plugin-host/wasm/policy-instance.ts"

/** Refuses with what it was given: about as much goes out as came in. */
const sources = {
  as: `import { ask, refuse } from "./question"
export function decide(): i32 {
  const call = ask()
  return refuse(call.toolName + ": " + call.arguments.member("content").text)
}
`,
  ts: `import type { Answer, Ask } from "./question.ts"
export const decide = (call: Ask): Answer => ({
  decision: "refuse",
  reason: call.toolName + ": " + (call.arguments as { readonly content: string }).content,
})
`,
} as const

const input = JSON.stringify({
  runId: "0b0c0d0e-0000-4000-8000-000000000001",
  calledBy: "0b0c0d0e-0000-4000-8000-000000000001",
  agentName: "builder",
  callId: "call-1",
  toolName: "write_file",
  arguments: { path: "src/index.ts", content: "export const answer = 42 // plain text, ".repeat(22) },
})

const native = (): string => {
  const call: { readonly toolName: string; readonly arguments: { readonly content: string } } = JSON.parse(input)
  return JSON.stringify({ decision: "refuse", reason: `${call.toolName}: ${call.arguments.content}` })
}

const instancesForMemory = 100
const pageBytes = 65_536

export const bench = async ({ quick }: BenchOptions): Promise<Report> => {
  const modules = { as: await moduleIn("as"), ts: await moduleIn("ts") }
  const policies = { as: await load(modules.as), ts: await load(modules.ts) }
  const unmetered = { as: withoutMeter(modules.as), ts: withoutMeter(modules.ts) }
  const worker = await createPlugin(
    { wasm: [{ data: modules.as.slice() }] },
    { runInWorker: true, useWasi: false, functions: { env: { abort: () => {} } } },
  )
  const inWorker = async () => {
    const output = await worker.call("decide", input)
    if (output === null || output.json() === null) throw new Error("the worker gave no answer")
  }
  const metered = (language: Language) => () => {
    const exit = policies[language].askNow({ function: "decide", input })
    if (!exit.ok) throw new Error(`${exit.reason}: ${exit.message}`)
  }
  const variants: ReadonlyArray<readonly [string, () => unknown, number]> = [
    ["native", () => native(), 20_000],
    ["AssemblyScript, metered", metered("as"), 4_000],
    ["AssemblyScript, unmetered", unmetered.as, 4_000],
    ["TypeScript, metered", metered("ts"), 1_500],
    ["TypeScript, unmetered", unmetered.ts, 1_500],
    ["AssemblyScript, SDK's worker", inWorker, 500],
  ]
  const rounds = quick ? 2 : 6
  const samples = new Map<string, Array<number>>(variants.map(([name]) => [name, []]))
  for (let number = -1; number < rounds; number++) {
    // round -1 only warms up
    for (const [name, once, count] of number % 2 === 0 ? variants : variants.toReversed()) {
      const times = await measure(once, quick ? Math.ceil(count / 10) : count)
      if (number >= 0) samples.get(name)?.push(...times)
    }
  }
  await worker.close()

  const times = (name: string) => samples.get(name) ?? []
  const mean = (name: string) => times(name).reduce((sum, each) => sum + each, 0) / times(name).length
  const p99 = (name: string) => percentile(times(name), 0.99)
  const ratio = (language: string) => median(times(`${language}, metered`)) / median(times(`${language}, unmetered`))
  const admission = { as: await admissionMs(modules.as), ts: await admissionMs(modules.ts) }
  const memory = { as: await memoryEach(modules.as), ts: await memoryEach(modules.ts) }
  const kilobytes = (bytes: Uint8Array) => round(bytes.length / 1_000, 1)
  return {
    title: `A decision of 1 KB in, 1 KB out (${input.length} bytes in; ${rounds} rounds)`,
    columns: ["", "median ms", "p99 ms", "decisions /s"],
    rows: variants.map(([name]) => [
      name,
      round(median(times(name)), 4),
      round(p99(name), 3),
      Math.round(1_000 / mean(name)),
    ]),
    notes: [
      `Module: ${kilobytes(modules.as)} KB (AssemblyScript), ${kilobytes(modules.ts)} KB (TypeScript).`,
      `Admission, parse to validate: ${round(admission.as, 2)} ms and ${round(admission.ts, 1)} ms, ` +
        `${round(per100KB(admission.ts, modules.ts), 1)} ms for 100 KB.`,
      `Memory of a pooled instance that has answered: ${Math.round(memory.as)} KB and ${Math.round(memory.ts)} KB.`,
    ],
    ratios: {
      metered_vs_unmetered: round(ratio("AssemblyScript")),
      metered_vs_unmetered_ts: round(ratio("TypeScript")),
      metered_vs_worker: round(
        median(times("AssemblyScript, metered")) / median(times("AssemblyScript, SDK's worker")),
        3,
      ),
    },
    figures: {
      p99_ms_metered: round(p99("AssemblyScript, metered"), 3),
      p99_ms_metered_ts: round(p99("TypeScript, metered"), 3),
      per_second: Math.round(1_000 / mean("AssemblyScript, metered")),
      per_second_ts: Math.round(1_000 / mean("TypeScript, metered")),
      admission_ms_per_100_kb: round(per100KB(admission.ts, modules.ts), 2),
      memory_kb_per_instance: Math.round(memory.as),
      memory_kb_per_instance_ts: Math.round(memory.ts),
    },
  }
}

const measure = async (once: () => unknown, count: number): Promise<ReadonlyArray<number>> => {
  const times: Array<number> = []
  for (let at = 0; at < count; at++) {
    const started = performance.now()
    const pending = once()
    if (pending instanceof Promise) await pending
    times.push(performance.now() - started)
  }
  return times
}

const moduleIn = async (language: Language): Promise<Uint8Array> => {
  const folder = await mkdtemp(join(tmpdir(), "svc-bench-"))
  try {
    const policy = join(folder, "bench-policy")
    await Effect.runPromise(newPolicy(policy, "tool.call", language))
    await writeFile(join(policy, language === "ts" ? "policy.ts" : "assembly/policy.ts"), sources[language])
    return (await Effect.runPromise(buildPolicy(policy))).found.wasm
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

const admitted = (wasm: Uint8Array): Promise<Admitted> => Effect.runPromise(admit(wasm, defaultLimits, policyGrants))
const load = async (wasm: Uint8Array): Promise<Policy> =>
  Effect.runPromise(Policy.load(await admitted(wasm), defaultPolicyLimits))

const admissionMs = async (wasm: Uint8Array): Promise<number> => {
  const times: Array<number> = []
  for (let at = 0; at < 9; at++) {
    const started = performance.now()
    await admitted(wasm)
    times.push(performance.now() - started)
  }
  return median(times)
}

const per100KB = (milliseconds: number, wasm: Uint8Array): number => (milliseconds / wasm.length) * 100_000

/** KB of resident memory that each further instance adds; the compiled code is shared. */
const memoryEach = async (wasm: Uint8Array): Promise<number> => {
  const module = await admitted(wasm)
  const kept: Array<Policy> = []
  const before = process.memoryUsage()
  for (let at = 0; at < instancesForMemory; at++) {
    const policy = await Effect.runPromise(Policy.load(module, defaultPolicyLimits))
    policy.askNow({ function: "decide", input })
    kept.push(policy)
  }
  const after = process.memoryUsage()
  return (after.rss - before.rss) / kept.length / 1_024
}

/** What `Policy` does, step by step, for a module as its compiler wrote it: call, answer, and everything set back. */
const withoutMeter = (wasm: Uint8Array): (() => void) => {
  const { bytes, globals } = withOpenState(wasm)
  const limits = defaultPolicyLimits
  const utf8 = new TextEncoder()
  const newCall = () => new PolicyCall(utf8.encode(input), new Map(), limits)
  const host: PolicyHost = { call: newCall(), instance: undefined }
  const functions = policyFunctions(host)
  const imports = Object.fromEntries([...functions].map(([module, members]) => [module, Object.fromEntries(members)]))
  const { exports } = new WebAssembly.Instance(new WebAssembly.Module(bytes), imports)
  const { decide, memory } = exports
  const initialize = exports._initialize
  if (typeof decide !== "function" || !(memory instanceof WebAssembly.Memory)) throw new Error("it exports no policy")
  const state = globals.flatMap((name) => {
    const global = exports[name]
    return global instanceof WebAssembly.Global ? [[global, global.value] as const] : []
  })
  const pristine = new Uint8Array(memory.buffer).slice()
  return () => {
    host.call = newCall()
    if (memory.buffer.byteLength !== pristine.length)
      throw new Error(`it grew beyond ${pristine.length / pageBytes} pages`)
    new Uint8Array(memory.buffer).set(pristine)
    for (const [global, value] of state) global.value = value
    if (typeof initialize === "function") initialize()
    if (decide() !== 0) throw new Error("it gave no answer")
    const answer = readAnswer(host.call.answer, limits.answerDepth)
    if (!answer.ok) throw new Error(answer.message)
  }
}

/** The module with its memory and its mutable globals exported, so that they can be set back. */
const withOpenState = (wasm: Uint8Array): { readonly bytes: Uint8Array; readonly globals: ReadonlyArray<string> } => {
  const module = binaryen.readBinary(wasm)
  try {
    const mutable = Array.from({ length: module.getNumGlobals() }, (_, at) =>
      binaryen.getGlobalInfo(module.getGlobalByIndex(at)),
    ).filter((global) => global.mutable)
    const globals = mutable.map(({ name }, at) => {
      module.addGlobalExport(name, `state-${at}`)
      return `state-${at}`
    })
    const exported = Array.from({ length: module.getNumExports() }, (_, at) =>
      binaryen.getExportInfo(module.getExportByIndex(at)),
    )
    if (!exported.some(({ name }) => name === "memory")) module.addMemoryExport("0", "memory")
    return { bytes: module.emitBinary(), globals }
  } finally {
    module.dispose()
  }
}
