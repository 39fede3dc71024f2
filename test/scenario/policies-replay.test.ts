/** What a running service recorded, asked again from the command line: of the same policies, and of their next version. */
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { expect, layer } from "@effect/vitest"
import { Effect } from "effect"
import { uninstall } from "#runtime/plugin-host/packages/installed.ts"
import { TestDatabase } from "#test/support/database.ts"
import { plugin } from "#test/support/plugin-command.ts"
import { allowing, answering, answeringSetting, writePackage } from "#test/support/policy-package.ts"
import { choosesModel, command, model, policyPlace, refusing } from "#test/support/policy-service.ts"

const asks = 5

layer(TestDatabase.layer, { excludeTestServices: true, timeout: "60 seconds" })("recorded decisions", (it) => {
  it.effect("give the same backtest twice, byte for byte, and receipts that agree", () =>
    Effect.gen(function* () {
      const { folder, data, home, installing, start } = yield* policyPlace
      const plugins = { Settings: { chooser: { choice: { modelId: "set", rationale: "by the operator" } } } }
      yield* installing({ wasm: allowing })
      yield* installing(
        {
          name: "chooser",
          wasm: answeringSetting("choice"),
          svc: { ...choosesModel, permissions: { config: ["choice"] } },
        },
        { grant: "all" },
      )
      const { ask, log, runs } = yield* start(plugins)
      const { runId } = yield* Effect.orDie(
        runs.create({ projectId: null, submittedBy: "ada", agentName: "Writer", task: "write" }),
      )
      for (let n = 0; n < asks; n++) yield* ask("command.run", { ...command(runId), callId: `c${n}` }, runId)
      expect((yield* ask("model.choose", model(runId), runId)).body.modelId).toBe("set")

      const { host, port, user, database } = yield* TestDatabase
      const config = join(folder, "svc.json")
      const url = `postgres://${user}@localhost:${port}/${database}?host=${encodeURIComponent(host)}`
      writeFileSync(config, JSON.stringify({ Data: { Directory: data }, Database: { Url: url }, Plugins: plugins }))
      const svc = (...args: ReadonlyArray<string>) => Effect.promise(() => plugin(...args, "--config", config))

      const stricter = writePackage(folder, "stricter", { version: "2.0.0", wasm: refusing("not any more") })
      const first = yield* svc("backtest", stricter, "--run", runId)
      expect(first).toMatchObject({ exit: 1, err: "" })
      expect(first.out).toContain(
        `Asked ${asks}: 0 agree, ${asks} would change, ${asks} of them refusals of a guard; 0 faults.`,
      )
      expect(yield* svc("backtest", stricter, "--run", runId)).toEqual(first)
      const same = writePackage(folder, "same", { version: "1.0.1", wasm: allowing })
      expect(yield* svc("backtest", same, "--run", runId)).toMatchObject({ exit: 0 })

      const chooser = writePackage(folder, "chooser", {
        name: "chooser",
        version: "1.0.1",
        wasm: answeringSetting("choice"),
        svc: { ...choosesModel, permissions: { config: ["choice"] } },
      })
      const asSet = yield* svc("backtest", chooser, "--run", runId)
      expect(asSet).toMatchObject({ exit: 0, out: expect.stringContaining("Asked 1: 1 agree") })

      const decisions = (yield* Effect.orDie(log.read(runId))).filter(({ type }) => type === "policy.decision")
      expect(decisions.length).toBe(asks + 1)
      for (const { sequence } of decisions) {
        const checked = yield* svc("verify-receipt", runId, String(sequence), "--json")
        expect(checked).toMatchObject({ exit: 0, err: "" })
        expect(JSON.parse(checked.out).receipts).toMatchObject([{ differences: [] }])
      }
      const [allowed] = decisions
      const last = decisions.at(-1)
      const receipt = ["verify-receipt", runId, String(allowed?.sequence)]
      expect((yield* svc(...receipt)).out).toMatch(
        /The receipt of guard 1\.0\.0 .*, which was asked beside others, is true/,
      )
      const otherSetting = ["--setting", 'choice={"modelId":"m","rationale":"r"}']
      expect(yield* svc("verify-receipt", runId, String(last?.sequence), ...otherSetting)).toMatchObject({
        exit: 1,
        out: expect.stringContaining("cannot be confirmed"),
      })
      expect(yield* svc(...receipt, "--policy", stricter)).toMatchObject({
        exit: 1,
        out: expect.stringContaining("module"),
      })
      yield* installing({ version: "1.0.2", wasm: refusing("upgraded") })
      expect(yield* svc(...receipt)).toMatchObject({ exit: 0 })
      yield* Effect.orDie(uninstall(home, "guard"))
      expect(yield* svc(...receipt)).toMatchObject({ exit: 1, err: expect.stringContaining("--policy <path>") })
      expect(yield* svc(...receipt, "--policy", same)).toMatchObject({ exit: 0 })
      expect(yield* svc("verify-receipt", runId, "999")).toMatchObject({ exit: 1 })
    }),
  )

  it.effect("of a change that was stopped have receipts that who has the change can check", () =>
    Effect.gen(function* () {
      const { folder, data, installing, start } = yield* policyPlace
      const wasm = answering(JSON.stringify({ verdict: "red", rationale: "a key" }))
      yield* installing({ wasm, svc: { hooks: { "rai.review": "answer" } } })
      const { ask, log, runs } = yield* start()
      const { runId } = yield* Effect.orDie(
        runs.create({ projectId: null, submittedBy: "ada", agentName: "Writer", task: "write" }),
      )
      const diff = "+the key is under the mat\n"
      yield* ask("rai.review", { runId, workPlanId: null, treeHash: null, files: [], diff, replies: [] }, runId)
      const events = (yield* Effect.orDie(log.read(runId))).map((event) =>
        JSON.stringify({ ...event, payload: JSON.parse(event.payload) }),
      )
      const at = (name: string, text: string) => {
        writeFileSync(join(folder, name), text)
        return join(folder, name)
      }
      const recorded = ["--file", at("events.jsonl", events.join("\n")), "--data", data]
      const verify = (...args: ReadonlyArray<string>) =>
        Effect.promise(() => plugin("verify-receipt", runId, String(events.length), ...recorded, ...args))
      expect(events.join()).not.toContain("mat")
      expect(yield* verify()).toMatchObject({ exit: 1, out: expect.stringContaining("--input") })
      expect(yield* verify("--input", at("rest.json", JSON.stringify({ diff })))).toMatchObject({
        exit: 0,
        out: expect.stringMatching(/The receipt of guard 1\.0\.0 .*, which decided, is true/),
      })
      const refused = expect.stringContaining("it is not the question that was asked")
      expect(yield* verify("--input", at("other.json", '{"diff":"+"}'))).toMatchObject({ exit: 1, err: refused })
      expect(yield* verify("--input", at("list.json", "[]"))).toMatchObject({ exit: 1 })
    }),
  )

  it.effect("of the service alone have no receipt", () =>
    Effect.gen(function* () {
      const { folder, data, installing, start } = yield* policyPlace
      yield* installing({ wasm: answering("null") })
      const { ask, log, runs } = yield* start()
      const { runId } = yield* Effect.orDie(
        runs.create({ projectId: null, submittedBy: "ada", agentName: "Writer", task: "write" }),
      )
      yield* ask("model.choose", model(runId), runId)
      const file = join(folder, "events.jsonl")
      const events = (yield* Effect.orDie(log.read(runId))).map((event) =>
        JSON.stringify({ ...event, payload: JSON.parse(event.payload) }),
      )
      writeFileSync(file, events.join("\n"))
      const sequence = String(events.length)
      const ended = yield* Effect.promise(() =>
        plugin("verify-receipt", runId, sequence, "--file", file, "--data", data),
      )
      expect(ended).toMatchObject({ exit: 1, err: expect.stringContaining("there is no receipt to check") })
    }),
  )
})
