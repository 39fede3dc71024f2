/** Installed policies in a running host: what they answer, what they cannot do, and how they are exchanged. */
import { join } from "node:path"
import { monitorEventLoopDelay } from "node:perf_hooks"
import { expect, layer } from "@effect/vitest"
import { Effect, Fiber, Schedule } from "effect"
import { EventLog } from "#core/event-log.ts"
import { Runs } from "#core/run/runs.ts"
import { commandRun } from "#policies/command/question.ts"
import { modelChoose } from "#policies/model-choice/question.ts"
import type { Candidate } from "#runtime/plugin-host/candidate.ts"
import { installedCandidates } from "#runtime/plugin-host/packages/candidates.ts"
import type { Home } from "#runtime/plugin-host/packages/home.ts"
import { type InstallOptions, install, revoke } from "#runtime/plugin-host/packages/installed.ts"
import { pluginsFolder } from "#runtime/plugin-host/packages/plugins-folder.ts"
import { sha256Of } from "#runtime/plugin-host/wasm/admission.ts"
import { coreServices } from "#test/support/core-services.ts"
import { hostOf } from "#test/support/plugin-host.ts"
import {
  answering,
  answeringSetting,
  type PackageSpec,
  temporaryFolder,
  writePackage,
} from "#test/support/policy-package.ts"

const runId = "6f2c7a52-3a52-4a0c-9c1f-3f3f0c5b1a01"
const command = {
  runId,
  agentName: "Writer",
  callId: "c1",
  command: "ls",
  commandHash: "sha256:0",
  workingDirectory: ".",
}
const model = {
  runId,
  projectId: null,
  agentName: "Writer",
  subtask: null,
  requestedModelId: null,
  agentModelId: null,
  projectModelId: null,
  defaultModelId: "default",
}

const unsigned: InstallOptions = { allowUnsigned: true, grant: "all" }
const refusing = (reason: string) => answering(JSON.stringify({ decision: "refuse", reason }))
const choosing = (modelId: string) => answering(JSON.stringify({ modelId, rationale: "test" }))
const answersModel = { hooks: { "model.choose": "answer" } }

const place = Effect.map(temporaryFolder, (folder) => {
  const home: Home = { plugins: pluginsFolder(join(folder, "data")), world: { version: "0.1.0" } }
  let made = 0
  const installing = (spec: PackageSpec, options = unsigned) =>
    Effect.suspend(() => install(home, writePackage(folder, `package-${made++}`, spec), options))
  return { home, installing }
})

const only = (candidates: ReadonlyArray<Candidate>): Candidate => {
  const [first] = candidates
  if (first === undefined) throw new Error("nothing is installed")
  return first
}

const newRun = Effect.flatMap(Runs, (runs) =>
  runs.create({ projectId: null, submittedBy: "ada", agentName: "Writer", task: "write it" }),
)

/** The first that policies left in the log of the run. */
const policyEventsOf = (runId: string) =>
  Effect.gen(function* () {
    const events = yield* (yield* EventLog).read(runId)
    return events
      .filter(({ type }) => type.startsWith("policy."))
      .map(({ type, payload }) => ({ type, payload: JSON.parse(payload) }))
  })

layer(coreServices(), { excludeTestServices: true, timeout: "30 seconds" })("an installed policy", (it) => {
  it.effect("decides, and leaves a receipt in the log of the run", () =>
    Effect.gen(function* () {
      const { home, installing } = yield* place
      const wasm = refusing("not on a Friday")
      yield* installing({ wasm })
      const { hooks } = yield* hostOf(yield* installedCandidates(home))
      const { runId } = yield* newRun
      const answer = yield* hooks.ask(commandRun, { ...command, runId }, { runId })
      expect(answer).toEqual({ decision: "refuse", reason: "not on a Friday", policy: "guard" })
      const [receipt] = yield* policyEventsOf(runId)
      expect(receipt).toMatchObject({
        type: "policy.decision",
        payload: {
          plugin: "guard",
          version: "1.0.0",
          digest: `sha256:${sha256Of(wasm)}`,
          abi: 1,
          fuel: expect.any(Number),
          duration_ms: expect.any(Number),
          input_complete: true,
        },
      })
    }),
  )

  it.effect("that runs out of fuel leaves the fault in the log of the run, with the fuel that it took", () =>
    Effect.gen(function* () {
      const { home, installing } = yield* place
      yield* installing({ svc: { hooks: { "command.run": "spin" }, limits: { fuel: 50_000, wallClock: 2_000 } } })
      const { hooks } = yield* hostOf(yield* installedCandidates(home))
      const { runId } = yield* newRun
      yield* hooks.ask(commandRun, { ...command, runId }, { runId })
      const [fault] = yield* policyEventsOf(runId)
      expect(fault).toMatchObject({
        type: "policy.fault",
        payload: { plugin: "guard", reason: "out_of_fuel", fuel: 50_000 },
      })
    }),
  )

  it.effect("reads the settings that it was granted, and no others", () =>
    Effect.gen(function* () {
      const { home, installing } = yield* place
      const svc = { permissions: { config: ["choice"] }, ...answersModel }
      yield* installing({ name: "granted", wasm: answeringSetting("choice"), svc })
      yield* installing({ name: "other", wasm: answeringSetting("choice"), svc: answersModel })
      const choice = { modelId: "m9", rationale: "set" }
      const host = yield* hostOf(yield* installedCandidates(home), {
        Settings: { granted: { choice }, other: { choice } },
      })
      expect(yield* host.hooks.ask(modelChoose, model)).toEqual(choice)
      yield* host.disable("granted")
      // it gives no answer without its setting, which fails closed: the service's own answer
      expect(yield* host.hooks.ask(modelChoose, model)).toMatchObject({ modelId: "default" })
    }),
  )

  it.effect("has settings of the form that its manifest says", () =>
    Effect.gen(function* () {
      const { home, installing } = yield* place
      const settings = { type: "object", properties: { most: { type: "integer" } }, required: ["most"] }
      yield* installing({ svc: { settings, permissions: { config: ["most"] } } })
      const host = yield* hostOf(yield* installedCandidates(home), { Settings: { guard: { most: "many" } } })
      const [report] = yield* host.list
      expect(report).toMatchObject({
        state: "refused",
        reasons: [expect.stringContaining("Plugins:Settings:guard:most")],
      })
    }),
  )

  it.effect("that has no opinion leaves the decision to the service", () =>
    Effect.gen(function* () {
      const { home, installing } = yield* place
      yield* installing({ wasm: answering("null"), svc: answersModel })
      const { hooks } = yield* hostOf(yield* installedCandidates(home))
      expect(yield* hooks.ask(modelChoose, model)).toMatchObject({ modelId: "default" })
    }),
  )

  const faults: ReadonlyArray<readonly [what: string, spec: PackageSpec]> = [
    ["never ends", { svc: { hooks: { "command.run": "spin" } } }],
    ["answers what is no answer", { wasm: answering('{"decision":"perhaps"}') }],
    ["answers no JSON", { wasm: answering("allow") }],
    ["answers too much", { wasm: answering(JSON.stringify("x".repeat(400))), svc: { limits: { output: 100 } } }],
    ["is asked too much", { svc: { limits: { input: 256, wallClock: 2_000 } } }],
  ]
  it.effect.each(faults)("that %s refuses what it guards", ([, spec]) =>
    Effect.gen(function* () {
      const { home, installing } = yield* place
      yield* installing(spec)
      const { hooks } = yield* hostOf(yield* installedCandidates(home))
      const answer = yield* hooks.ask(commandRun, { ...command, command: "x".repeat(300) })
      expect(answer).toMatchObject({ decision: "refuse", policy: "guard" })
    }),
  )

  it.effect("that may not run refuses what it guards; one that is only watched does not", () =>
    Effect.gen(function* () {
      const { home, installing } = yield* place
      const permissions = { config: ["a"] }
      yield* installing({ name: "watched", svc: { permissions, mode: "shadow" } })
      yield* revoke(home, "watched", [])
      const watchedOnly = yield* hostOf(yield* installedCandidates(home))
      expect(yield* watchedOnly.hooks.ask(commandRun, command)).toEqual({ decision: "allow" })
      yield* installing({ name: "guard", svc: { permissions } })
      yield* revoke(home, "guard", [])
      const { hooks } = yield* hostOf(yield* installedCandidates(home))
      expect(yield* hooks.ask(commandRun, command)).toMatchObject({ decision: "refuse", policy: "guard" })
    }),
  )

  it.effect("that is exchanged under load answers every question, each by one version", () =>
    Effect.gen(function* () {
      const { home, installing } = yield* place
      const versions = Array.from({ length: 6 }, (_, at) => `1.0.${at}`)
      yield* installing({ version: "1.0.0", wasm: choosing("1.0.0"), svc: answersModel })
      const host = yield* hostOf(yield* installedCandidates(home))
      const seen = new Set<string>()
      let asked = 0
      let stop = false
      const asking = Effect.gen(function* () {
        let last = 0
        while (!stop) {
          const { modelId, rationale } = yield* host.hooks.ask(modelChoose, model)
          expect(rationale).toBe("test")
          const at = versions.indexOf(modelId)
          // never an older one again, and never the service's own
          expect(at).toBeGreaterThanOrEqual(last)
          last = at
          seen.add(modelId)
          asked++
          yield* Effect.yieldNow
        }
      })
      const untilSeen = (version: string) =>
        Effect.suspend(() => (seen.has(version) ? Effect.void : Effect.fail("not yet"))).pipe(
          Effect.retry(Schedule.spaced("1 millis")),
          Effect.timeout("10 seconds"),
        )
      const askers = yield* Effect.forEach([1, 2, 3, 4, 5, 6, 7, 8], () => Effect.forkChild(asking))
      yield* untilSeen("1.0.0")
      for (const version of versions.slice(1)) {
        yield* installing({ version, wasm: choosing(version), svc: answersModel })
        const report = yield* host.install(only(yield* installedCandidates(home)))
        expect(report).toMatchObject({ version, state: "running" })
        yield* untilSeen(version)
      }
      stop = true
      yield* Effect.forEach(askers, Fiber.join)
      expect([...seen]).toEqual(versions)
      expect(asked).toBeGreaterThan(100)
      expect((yield* host.faults("guard")).length).toBe(0)
    }),
  )

  it.effect(
    "with a large budget has threads of its own: an endless answer ends at the deadline, and this thread goes on",
    () =>
      Effect.gen(function* () {
        const { home, installing } = yield* place
        const svc = { hooks: { "command.run": "spin" }, limits: { fuel: 1_000_000_000, wallClock: 100 } }
        yield* installing({ svc })
        const { hooks } = yield* hostOf(yield* installedCandidates(home))
        const delay = monitorEventLoopDelay({ resolution: 1 })
        delay.enable()
        const answer = yield* hooks.ask(commandRun, command)
        delay.disable()
        expect(answer).toMatchObject({ decision: "refuse", reason: expect.stringContaining("timed_out") })
        expect(delay.percentile(50) / 1_000_000).toBeLessThan(50)
      }),
  )

  it.effect("with a large budget answers beside a question that takes it all", () =>
    Effect.gen(function* () {
      const { home, installing } = yield* place
      const limits = { fuel: 1_000_000_000, wallClock: 2_000 }
      const hooks = { "model.choose": "answer", "command.run": "spin" }
      yield* installing({ wasm: choosing("threaded"), svc: { hooks, limits } })
      const host = yield* hostOf(yield* installedCandidates(home))
      const endless = yield* Effect.forkChild(host.hooks.ask(commandRun, command), { startImmediately: true })
      expect(yield* host.hooks.ask(modelChoose, model)).toMatchObject({ modelId: "threaded" })
      expect(yield* Fiber.join(endless)).toMatchObject({ decision: "refuse" })
      expect(yield* host.hooks.ask(modelChoose, model)).toMatchObject({ modelId: "threaded" })
    }),
  )
})
