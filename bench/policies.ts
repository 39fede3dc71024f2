/**
 * What policies do to everybody else: `GET /api/ping`, 200 a second, beside four clients that ask one policy without a pause:
 *  - a guard that answers at once;
 *  - one that never ends, in the service's thread: bounded by its fuel;
 *  - one that never ends, in threads of its own: bounded by the clock.
 * What never ends is taken out after five faults; here an administrator starts it again every second. The service is a process of its own, and each
 * latency is counted from when its request was due.
 */
import { type ChildProcess, fork } from "node:child_process"
import { mkdtemp, rm } from "node:fs/promises"
import { Agent, request } from "node:http"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Effect } from "effect"
import { type BenchDatabase, withBenchDatabase } from "#bench/database.ts"
import { type BenchOptions, percentile, type Report, round } from "#bench/report.ts"
import { foregroundFuel } from "#runtime/plugin-host/packages/budget.ts"
import { install } from "#runtime/plugin-host/packages/installed.ts"
import { pluginsFolder } from "#runtime/plugin-host/packages/plugins-folder.ts"
import { version } from "#runtime/version.ts"
import { type PackageSpec, writePackage } from "#test/support/policy-package.ts"

const key = "bench-key-0123456789"
const pingsPerSecond = 200
const askers = 4
/** Milliseconds. */
const restartEvery = 1_000
const endless = { hooks: { "command.run": "spin" } }

const situations: ReadonlyArray<{ readonly name: string; readonly policy?: PackageSpec }> = [
  { name: "nobody asks" },
  { name: "a guard that answers", policy: {} },
  { name: "endless, the service's thread", policy: { svc: { ...endless, limits: { wallClock: 200 } } } },
  {
    name: "endless, threads of its own",
    policy: { svc: { ...endless, limits: { fuel: 10 * foregroundFuel, wallClock: 200 } } },
  },
]

interface Measured {
  readonly pings: Array<number>
  readonly failed: number
  readonly asked: number
}

export const bench = ({ quick }: BenchOptions): Promise<Report> =>
  withBenchDatabase(async (database) => {
    const seconds = quick ? 1 : 10
    const results: Array<Measured> = []
    for (const { policy } of situations) results.push(await measure(database, policy, seconds))
    const p99 = results.map(({ pings }) => percentile(pings, 0.99))
    const [idle = Number.NaN, , here = Number.NaN, threads = Number.NaN] = p99
    return {
      title: `GET /api/ping, ${pingsPerSecond} a second for ${seconds} s, beside ${askers} clients that ask a policy`,
      columns: ["", "p50 ms", "p99 ms", "max ms", "not 200", "asked /s"],
      rows: situations.map(({ name }, at) => {
        const { pings = [], failed = 0, asked = 0 } = results[at] ?? {}
        return [
          name,
          round(percentile(pings, 0.5)),
          round(percentile(pings, 0.99)),
          round(percentile(pings, 1)),
          failed,
          round(asked / seconds, 0),
        ]
      }),
      ratios: { endless_here_vs_idle_p99: round(here / idle), endless_threads_vs_idle_p99: round(threads / idle) },
      figures: { idle_p99_ms: round(idle), endless_here_p99_ms: round(here), endless_threads_p99_ms: round(threads) },
    }
  })

const measure = async (
  database: BenchDatabase,
  policy: PackageSpec | undefined,
  seconds: number,
): Promise<Measured> => {
  const folder = await mkdtemp(join(tmpdir(), "svc-bench-policies-"))
  const data = join(folder, "data")
  if (policy !== undefined) {
    const path = writePackage(folder, "package", policy)
    await Effect.runPromise(
      install({ plugins: pluginsFolder(data), world: { version } }, path, { allowUnsigned: true }),
    )
  }
  const replica = await start(database, data)
  const agent = new Agent({ keepAlive: true, maxSockets: 64 })
  const call = (method: string, path: string, body?: unknown) => send(agent, replica.port, method, path, body)
  try {
    for (let n = 0; n < 50; n++) await call("GET", "/api/ping")
    let going = true
    let asked = 0
    const asking = async () => {
      while (going) {
        await call("POST", "/api/asking/command.run", { input: question })
        asked++
      }
    }
    const restarting = async () => {
      while (going) {
        await call("POST", "/api/plugins/guard/enable")
        await new Promise((resolve) => setTimeout(resolve, restartEvery))
      }
    }
    const busy = policy === undefined ? [] : [...Array.from({ length: askers }, asking), restarting()]
    const pings: Array<number> = []
    let failed = 0
    const begin = performance.now()
    const sent: Array<Promise<void>> = []
    for (let n = 0; n < pingsPerSecond * seconds; n++) {
      const due = begin + (n * 1_000) / pingsPerSecond
      const early = due - performance.now()
      if (early > 0) await new Promise((resolve) => setTimeout(resolve, early))
      sent.push(
        call("GET", "/api/ping").then((status) => {
          pings.push(performance.now() - due)
          if (status !== 200) failed++
        }),
      )
    }
    await Promise.all(sent)
    going = false
    await Promise.all(busy)
    return { pings, failed, asked }
  } finally {
    agent.destroy()
    replica.process.kill()
    await rm(folder, { recursive: true, force: true })
  }
}

const question = {
  runId: "0b0c0d0e-0000-4000-8000-000000000001",
  agentName: "builder",
  callId: "call-1",
  command: "npm test",
  commandHash: "sha256:0",
  workingDirectory: ".",
}

const start = (
  { socketFolder, port, user, name }: BenchDatabase,
  data: string,
): Promise<{ readonly port: number; readonly process: ChildProcess }> =>
  new Promise((resolve, reject) => {
    const server = JSON.stringify({ host: socketFolder, port, user, database: name })
    const child = fork(join(import.meta.dirname, "policies/replica.ts"), [server, key, data])
    child.once("error", reject)
    child.once("exit", (code) => reject(new Error(`the replica ended with ${code}`)))
    child.once("message", (hello: { port: number }) => resolve({ port: hello.port, process: child }))
  })

const send = (agent: Agent, port: number, method: string, path: string, body?: unknown): Promise<number> =>
  new Promise((resolve, reject) => {
    const text = body === undefined ? undefined : JSON.stringify(body)
    const headers = {
      authorization: `Bearer ${key}`,
      ...(text === undefined ? {} : { "content-type": "application/json", "content-length": Buffer.byteLength(text) }),
    }
    const outgoing = request({ agent, port, host: "127.0.0.1", method, path, headers }, (response) => {
      response.resume()
      response.once("end", () => resolve(response.statusCode ?? 0))
    })
    outgoing.once("error", reject)
    outgoing.end(text)
  })
