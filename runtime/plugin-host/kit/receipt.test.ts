/** Receipts of decisions that the running hooks recorded, of installed policies, asked again. */
import { join } from "node:path"
import { expect, layer } from "@effect/vitest"
import { Effect } from "effect"
import { Runs } from "#core/run/runs.ts"
import { commandRun } from "#policies/command/question.ts"
import { modelChoose } from "#policies/model-choice/question.ts"
import { raiReview } from "#policies/rai/question.ts"
import { openCandidate } from "#runtime/plugin-host/kit/candidate.ts"
import { type Receipt, receiptsIn, verifyReceipt, withInput } from "#runtime/plugin-host/kit/receipt.ts"
import { type Decision, recordedInLog } from "#runtime/plugin-host/kit/recorded.ts"
import { installedCandidates } from "#runtime/plugin-host/packages/candidates.ts"
import type { Home } from "#runtime/plugin-host/packages/home.ts"
import { entryNamed, install } from "#runtime/plugin-host/packages/installed.ts"
import { pluginsFolder } from "#runtime/plugin-host/packages/plugins-folder.ts"
import { folderOf } from "#runtime/plugin-host/packages/store.ts"
import { coreServices } from "#test/support/core-services.ts"
import { hostOf } from "#test/support/plugin-host.ts"
import {
  allowing,
  answering,
  answeringSetting,
  type PackageSpec,
  temporaryFolder,
  writePackage,
} from "#test/support/policy-package.ts"

const place = Effect.map(temporaryFolder, (folder) => {
  const home: Home = { plugins: pluginsFolder(join(folder, "data")), world: { version: "0.1.0" } }
  const installing = (spec: PackageSpec & { readonly name: string }) =>
    install(home, writePackage(folder, `${spec.name}-package`, spec), { allowUnsigned: true, grant: "all" })
  const candidateOf = Effect.fnUntraced(function* (name: string) {
    const { active } = yield* entryNamed(home, name)
    return yield* openCandidate(folderOf(home.plugins, active?.manifest ?? ""))
  })
  return { home, installing, candidateOf }
})

const command = { agentName: "Writer", callId: "c1", command: "ls", commandHash: "sha256:0", workingDirectory: "." }
const model = {
  projectId: null,
  agentName: "Writer",
  subtask: null,
  requestedModelId: null,
  agentModelId: null,
  projectModelId: null,
  defaultModelId: "default",
}
const answersModel = { hooks: { "model.choose": "answer" } }
const refusing = answering('{"decision":"refuse","reason":"not here"}')

/** What is in the log of a new run after it was asked. */
const recordedWhen = Effect.fnUntraced(function* (ask: (runId: string) => Effect.Effect<unknown, unknown>) {
  const { runId } = yield* (yield* Runs).create({ projectId: null, submittedBy: "ada", agentName: "Writer", task: "t" })
  yield* ask(runId)
  const [record] = yield* recordedInLog({ run: runId })
  if (record === undefined) throw new Error("nothing was recorded")
  return record
})

const named = (receipts: ReadonlyArray<Receipt>) => receipts.map(({ plugin, decided }) => ({ plugin, decided }))

layer(coreServices(), { excludeTestServices: true, timeout: "30 seconds" })("a receipt", (it) => {
  it.effect(
    "is there of every guard that was asked, also where the service itself is named as the one that allowed",
    () =>
      Effect.gen(function* () {
        const { home, installing, candidateOf } = yield* place
        yield* installing({ name: "one", wasm: allowing })
        yield* installing({ name: "two", wasm: answering("null") })
        const { hooks } = yield* hostOf(yield* installedCandidates(home))
        const record = yield* recordedWhen((runId) => hooks.ask(commandRun, { ...command, runId }, { runId }))
        expect(record.decision.plugin).toBe("built-in")
        const receipts = receiptsIn(record)
        expect(named(receipts)).toEqual([
          { plugin: "one", decided: false },
          { plugin: "two", decided: false },
        ])
        for (const receipt of receipts) {
          const check = verifyReceipt(yield* candidateOf(receipt.plugin), record, receipt)
          expect(check).toEqual({
            plugin: receipt.plugin,
            version: "1.0.0",
            digest: receipt.digest,
            decided: false,
            differences: [],
          })
          expect(receipt.fuel).toBeGreaterThan(0)
        }
      }),
  )

  it.effect("is true of the guard that refused, and of those beside it", () =>
    Effect.gen(function* () {
      const { home, installing, candidateOf } = yield* place
      yield* installing({ name: "one", wasm: allowing })
      yield* installing({ name: "two", wasm: refusing })
      const { hooks } = yield* hostOf(yield* installedCandidates(home))
      const record = yield* recordedWhen((runId) => hooks.ask(commandRun, { ...command, runId }, { runId }))
      const receipts = receiptsIn(record)
      expect(named(receipts)).toEqual([
        { plugin: "two", decided: true },
        { plugin: "one", decided: false },
      ])
      for (const receipt of receipts) {
        expect(verifyReceipt(yield* candidateOf(receipt.plugin), record, receipt).differences).toEqual([])
      }
      const [refused] = receipts
      if (refused === undefined) throw new Error("no receipt")
      const other = yield* candidateOf("one")
      expect(verifyReceipt(other, record, refused).differences).toEqual([
        { what: "module", recorded: refused.digest, found: other.digest },
      ])
    }),
  )

  it.effect("is true of a decision with the settings that were granted then, and not with others", () =>
    Effect.gen(function* () {
      const { home, installing, candidateOf } = yield* place
      const svc = { ...answersModel, permissions: { config: ["choice"] } }
      yield* installing({ name: "chooser", wasm: answeringSetting("choice"), svc })
      const choice = { modelId: "m", rationale: "set" }
      const { hooks } = yield* hostOf(yield* installedCandidates(home), { Settings: { chooser: { choice } } })
      const record = yield* recordedWhen((runId) => hooks.ask(modelChoose, { ...model, runId }, { runId }))
      const [receipt] = receiptsIn(record)
      if (receipt === undefined) throw new Error("no receipt")
      const chooser = yield* candidateOf("chooser")
      const config = new Map([["choice", JSON.stringify(choice)]])
      expect(verifyReceipt(chooser, record, receipt, config).differences).toEqual([])
      const others = new Map([["choice", '{"modelId":"other","rationale":"set"}']])
      expect(verifyReceipt(chooser, record, receipt, others).differences.map(({ what }) => what)).toContain("answer")
    }),
  )

  it.effect("of a change that was stopped is checked by who has the change: the log does not hold it", () =>
    Effect.gen(function* () {
      const { home, installing, candidateOf } = yield* place
      const svc = { hooks: { "rai.review": "answer" } }
      yield* installing({ name: "one", wasm: answering('{"verdict":"red","rationale":"a key"}'), svc })
      const { hooks } = yield* hostOf(yield* installedCandidates(home))
      const diff = "+the key is under the mat\n"
      const change = { workPlanId: null, treeHash: null, files: [], diff, replies: [] }
      const record = yield* recordedWhen((runId) => hooks.ask(raiReview, { ...change, runId }, { runId }))
      expect(JSON.stringify(record)).not.toContain("mat")
      const one = yield* candidateOf("one")
      const [receipt] = receiptsIn(record)
      const whole = withInput(record, { diff })
      if (receipt === undefined || whole === undefined) throw new Error("no receipt, or not the question")
      expect(verifyReceipt(one, record, receipt).differences.map(({ what }) => what)).toContain("input")
      expect(verifyReceipt(one, whole, receipt).differences).toEqual([])
      expect(withInput(record, { diff: "+another" })).toBeUndefined()
    }),
  )

  it.effect("names what is not as recorded", () =>
    Effect.gen(function* () {
      const { home, installing, candidateOf } = yield* place
      yield* installing({ name: "one", wasm: refusing })
      const { hooks } = yield* hostOf(yield* installedCandidates(home))
      const record = yield* recordedWhen((runId) => hooks.ask(commandRun, { ...command, runId }, { runId }))
      const one = yield* candidateOf("one")
      const differing = (changes: Partial<Decision>) => {
        const changed = { decision: { ...record.decision, ...changes } }
        return receiptsIn(changed).flatMap((receipt) =>
          verifyReceipt(one, changed, receipt).differences.map(({ what }) => what),
        )
      }
      const another = `sha256:${"0".repeat(64)}`
      expect(differing({})).toEqual([])
      expect(differing({ digest: another })).toEqual(["module"])
      expect(differing({ abi: 7 })).toEqual(["abi"])
      expect(differing({ answer: { decision: "allow" } })).toEqual(["answer"])
      expect(differing({ fuel: 1 })).toEqual(["fuel"])
      // what the world answered then is not there to be answered again
      expect(differing({ io: { calls: 2, digest: another } })).toEqual(["io"])
      expect(differing({ input_hash: another })).toEqual(["input"])
      expect(differing({ input_complete: false })).toEqual(["input"])
      expect(differing({ question: "tool.call" })).toEqual(["question"])
    }),
  )
})
