/** Installed policies that call a host and keep values, in a running host: what they may, and what is left when they may not. */
import type { RequestListener } from "node:http"
import { join } from "node:path"
import { expect, layer } from "@effect/vitest"
import { Effect } from "effect"
import { EventLog } from "#core/event-log.ts"
import { Runs } from "#core/run/runs.ts"
import { Sql } from "#core/sql.ts"
import { commandRun } from "#policies/command/question.ts"
import { makeOutgoing } from "#runtime/outgoing/outgoing.ts"
import { openCandidate } from "#runtime/plugin-host/kit/candidate.ts"
import { receiptsIn, verifyReceipt } from "#runtime/plugin-host/kit/receipt.ts"
import { recordedInLog } from "#runtime/plugin-host/kit/recorded.ts"
import { engineFor } from "#runtime/plugin-host/kit/typescript/engine.ts"
import { installedCandidates } from "#runtime/plugin-host/packages/candidates.ts"
import type { Home } from "#runtime/plugin-host/packages/home.ts"
import { grant, type InstallOptions, install, revoke } from "#runtime/plugin-host/packages/installed.ts"
import { pluginsFolder } from "#runtime/plugin-host/packages/plugins-folder.ts"
import { certificateFor } from "#test/support/certificate.ts"
import { coreServices } from "#test/support/core-services.ts"
import { hostOf } from "#test/support/plugin-host.ts"
import { type PackageSpec, temporaryFolder, writePackage } from "#test/support/policy-package.ts"
import { webServer } from "#test/support/web-server.ts"

const certificate = certificateFor("api.example.test", "other.example.test")

/** Counts the commands of a run, and asks a host about each: its status is the answer, its body the reason. */
const asking = await engineFor(
  `({ answer: (text) => {
    const { command } = JSON.parse(text)
    const kept = kv.get("count")
    const count = Number(kept.value ?? "0") + 1
    const set = kept.ok ? kv.set("count", String(count), kept.value) : kept
    const said = http({ url: config("origin") + "/" + command, headers: { "x-count": String(count) } })
    const reason = !set.ok ? set.reason : said.ok ? said.body : said.reason
    return JSON.stringify(set.ok && said.ok && said.status === 200 ? { decision: "allow" } : { decision: "refuse", reason })
  } })`,
  ["answer"],
  ["http", "kv"],
)

const command = { agentName: "Writer", callId: "c1", commandHash: "sha256:0", workingDirectory: "." }

/** A folder with plugins, a host that they may call, and whoever asks them. */
const place = Effect.fnUntraced(function* (answer: RequestListener) {
  const folder = yield* temporaryFolder
  const server = yield* webServer(answer, certificate)
  const home: Home = {
    plugins: pluginsFolder(join(folder, "data")),
    world: { version: "0.1.0" },
    outgoing: makeOutgoing({
      trusted: [certificate.cert],
      permitted: [server],
      resolver: async () => [server.address],
    }),
  }
  const origin = `https://api.example.test:${server.port}`
  const installing = (spec: PackageSpec = {}, options: InstallOptions = { grant: "all" }) => {
    const { svc = {}, ...rest } = spec
    const permissions = { net: [origin], kv: true, config: ["origin"] }
    const written = { wasm: asking, ...rest, svc: { permissions, ...svc } }
    return install(home, writePackage(folder, `package-${spec.name ?? "guard"}`, written), {
      allowUnsigned: true,
      ...options,
    })
  }
  const running = (called = origin, name = "guard") =>
    Effect.gen(function* () {
      const { hooks } = yield* hostOf(yield* installedCandidates(home), { Settings: { [name]: { origin: called } } })
      return Effect.fnUntraced(function* (line: string) {
        const { runId } = yield* (yield* Runs).create({
          projectId: null,
          submittedBy: "ada",
          agentName: "Writer",
          task: "t",
        })
        return { runId, answer: yield* hooks.ask(commandRun, { ...command, runId, command: line }, { runId }) }
      })
    })
  return { home, server, origin, installing, running }
})

const eventsOf = Effect.fnUntraced(function* (runId: string) {
  const events = yield* (yield* EventLog).read(runId)
  return events.filter(({ type }) => type.startsWith("policy.")).map(({ payload }) => JSON.parse(payload))
})

const keptBy = Effect.fnUntraced(function* (plugin: string) {
  const sql = yield* Sql
  return yield* sql`select key, convert_from(value, 'UTF8') as value from plugin_kv where plugin = ${plugin}`
})

const judging: RequestListener = (request, response) => {
  if (request.url === "/ls") response.end()
  else response.writeHead(403).end(`no ${request.url} ${request.headers["x-count"]}`)
}

layer(coreServices(), { excludeTestServices: true, timeout: "60 seconds" })(
  "an installed policy with permissions",
  (it) => {
    it.effect("decides by what its host says and what it kept, and its receipt says that it asked", () =>
      Effect.gen(function* () {
        const { home, installing, running, server } = yield* place(judging)
        const { entry } = yield* installing({ name: "judge" })
        const ask = yield* running(undefined, "judge")
        const allowed = yield* ask("ls")
        expect(allowed.answer).toEqual({ decision: "allow" })
        const { answer, runId } = yield* ask("rm")
        expect(answer).toEqual({ decision: "refuse", reason: "no /rm 2", policy: "judge" })
        expect(server.asked.map(({ url }) => url)).toEqual(["/ls", "/rm"])
        expect(yield* keptBy("judge")).toEqual([{ key: "count", value: "2" }])

        const io = { calls: 3, digest: expect.stringMatching(/^sha256:[0-9a-f]{64}$/) }
        expect(yield* eventsOf(runId)).toMatchObject([{ plugin: "judge", answer, io }])
        const [guarded] = yield* eventsOf(allowed.runId)
        expect(guarded).toMatchObject({ plugin: "built-in", consulted: [{ plugin: "judge", io }] })
        expect(guarded).not.toHaveProperty("io")

        const [record] = yield* recordedInLog({ run: runId })
        const candidate = yield* openCandidate(join(home.plugins, "store", entry.active?.manifest.slice(7) ?? ""))
        const receipts = record === undefined ? [] : receiptsIn(record)
        const checks = receipts.map((receipt) => record && verifyReceipt(candidate, record, receipt))
        expect(checks).toMatchObject([{ plugin: "judge", differences: [{ what: "io" }] }])
      }),
    )

    it.effect("reaches no other origin, and no value of another plugin", () =>
      Effect.gen(function* () {
        const { installing, running, server } = yield* place(judging)
        yield* installing({ name: "other" })
        const ask = yield* running(`https://other.example.test:${server.port}`, "other")
        expect((yield* ask("ls")).answer).toMatchObject({ decision: "refuse", reason: "origin" })
        expect(server.asked).toEqual([])
        expect(yield* keptBy("other")).toEqual([{ key: "count", value: "1" }])
        expect(yield* keptBy("judge")).toEqual([{ key: "count", value: "2" }])
      }),
    )

    it.effect("whose host is slow refuses at its deadline, ends the call, and answers the next question", () =>
      Effect.gen(function* () {
        let ended: () => void = () => {}
        const gone = new Promise<void>((resolve) => {
          ended = resolve
        })
        const { installing, running } = yield* place((request, response) => {
          if (request.url === "/slow") response.once("close", ended)
          else response.end()
        })
        yield* installing({ name: "slow", svc: { limits: { wallClock: 1_000 } } })
        const ask = yield* running(undefined, "slow")
        const { answer, runId } = yield* ask("slow")
        expect(answer).toMatchObject({ decision: "refuse", policy: "slow" })
        expect(yield* eventsOf(runId)).toMatchObject([{ plugin: "slow", reason: "timed_out" }, { plugin: "built-in" }])
        yield* Effect.promise(() => gone)
        expect((yield* ask("fast")).answer).toEqual({ decision: "allow" })
      }),
    )

    it.effect("is not asked where what it asks for is not granted, or not any more: its guard refuses", () =>
      Effect.gen(function* () {
        const { home, installing, running, origin, server } = yield* place(judging)
        yield* installing({ name: "granted" })
        expect((yield* (yield* running(undefined, "granted"))("ls")).answer).toEqual({ decision: "allow" })
        yield* revoke(home, "granted", [`net:${origin}`])
        const { answer } = yield* (yield* running(undefined, "granted"))("ls")
        expect(answer).toMatchObject({ decision: "refuse" })
        expect(server.asked).toHaveLength(1)
        const [candidate] = yield* installedCandidates(home)
        expect(candidate?.problem).toContain(`svc plugin grant granted net:${origin}`)
        yield* grant(home, "granted", [])
        expect((yield* (yield* running(undefined, "granted"))("ls")).answer).toEqual({ decision: "allow" })
      }),
    )

    it.effect("is not installed where its module imports what its manifest does not ask for", () =>
      Effect.gen(function* () {
        const { installing, origin } = yield* place(judging)
        const permissions = { net: [origin], config: ["origin"] }
        const refusal = yield* Effect.flip(installing({ name: "silent", svc: { permissions } }))
        expect(refusal).toMatchObject({ reason: "module" })
        expect(refusal.message).toContain("imports svc:io.kv, which it was not granted")
      }),
    )
  },
)
