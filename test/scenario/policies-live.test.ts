/** Policies that come, change and go while the service runs: from the command line's files and over HTTP, on two replicas. */
import { cpSync, renameSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { expect, layer } from "@effect/vitest"
import { Effect } from "effect"
import { grant, revoke, setEnabled, uninstall } from "#runtime/plugin-host/packages/installed.ts"
import { lockFilePath } from "#runtime/plugin-host/packages/plugins-folder.ts"
import { newSigningKey, publicKeyOf, signManifest } from "#runtime/plugin-host/packages/signature.ts"
import { revokeKey, trustKey } from "#runtime/plugin-host/packages/trust.ts"
import { TestDatabase } from "#test/support/database.ts"
import { answering } from "#test/support/policy-package.ts"
import {
  type Answered,
  choosesModel,
  choosing,
  command,
  model,
  policyPlace,
  refusing,
  until,
} from "#test/support/policy-service.ts"

const runId = "6f2c7a52-3a52-4a0c-9c1f-3f3f0c5b1a01"
const decided = ({ body }: Answered): string => body.reason ?? body.decision
const reportOf = (listed: Answered, name: string) =>
  listed.body.find((plugin: { name: string }) => plugin.name === name)
const stateOf = (name: string) => (listed: Answered) => reportOf(listed, name)?.state

layer(TestDatabase.layer, { excludeTestServices: true, timeout: "60 seconds" })("a running service", (it) => {
  it.effect("follows what is installed, upgraded, switched, granted and removed beside it, on every replica", () =>
    Effect.gen(function* () {
      const { home, installing, start } = yield* policyPlace
      const replicas = [yield* start(), yield* start()] as const
      const everywhere = (answer: string) =>
        Effect.forEach(replicas, ({ ask }) =>
          until(ask("command.run", command(runId)), (seen) => decided(seen) === answer),
        )

      yield* everywhere("allow")
      yield* installing({ wasm: refusing("one") })
      yield* everywhere("one")
      yield* installing({ version: "1.1.0", wasm: refusing("two") })
      yield* everywhere("two")
      yield* setEnabled(home, "guard", false)
      yield* everywhere("allow")
      yield* setEnabled(home, "guard", true)
      yield* everywhere("two")

      // an upgrade that asks for more waits, and the version before goes on
      yield* installing({ version: "1.2.0", wasm: refusing("three"), svc: { permissions: { config: ["most"] } } })
      yield* everywhere("two")
      yield* grant(home, "guard", [])
      yield* everywhere("three")
      // without its grant it does not run, and what it guards is closed
      yield* revoke(home, "guard", [])
      yield* Effect.forEach(replicas, ({ ask }) =>
        until(ask("command.run", command(runId)), ({ body }) => /guard \(unavailable\)/.test(body.reason)),
      )
      const [{ sql }] = replicas
      yield* sql`insert into plugin_kv (plugin, key, value) values ('guard', 'k', 'kept'), ('other', 'k', 'kept')`
      yield* uninstall(home, "guard")
      yield* everywhere("allow")
      // the next one of its name does not find what it kept
      const keepers = sql<{ readonly plugin: string }>`select plugin from plugin_kv`
      const left = Effect.map(Effect.orDie(keepers), (rows) => rows.map(({ plugin }) => plugin))
      expect(yield* until(left, ({ length }) => length === 1)).toEqual(["other"])
    }),
  )

  it.effect("goes on with what runs while the lock file cannot be understood, and says so", () =>
    Effect.gen(function* () {
      const { home, installing, start } = yield* policyPlace
      yield* installing({ wasm: refusing("still") })
      const { ask, call } = yield* start()
      writeFileSync(lockFilePath(home.plugins), "{")
      const { body } = yield* until(call("GET /api/diagnostics/plugins"), (seen) => seen.body.status === "degraded")
      expect(body.problems).toEqual([expect.stringContaining("plugins.lock.json cannot be understood")])
      expect(decided(yield* ask("command.run", command(runId)))).toBe("still")
    }),
  )

  it.effect("keeps its guards where the folder is gone, and finds it when it is back", () =>
    Effect.gen(function* () {
      const { folder, home, installing, start } = yield* policyPlace
      yield* installing({ wasm: refusing("before") })
      const { ask, call } = yield* start()
      const away = join(folder, "away")
      renameSync(home.plugins, away)
      yield* until(call("GET /api/diagnostics/plugins"), ({ body }) => / is gone\./.test(body.problems[0] ?? ""))
      expect(decided(yield* ask("command.run", command(runId)))).toBe("before")
      renameSync(away, home.plugins)
      yield* until(call("GET /api/diagnostics/plugins"), ({ body }) => body.status === "healthy")
      // nobody watches a folder that is another one
      cpSync(home.plugins, away, { recursive: true })
      renameSync(home.plugins, join(folder, "first"))
      renameSync(away, home.plugins)
      yield* installing({ version: "1.1.0", wasm: refusing("after") })
      yield* until(ask("command.run", command(runId)), (seen) => decided(seen) === "after")
      expect((yield* call("GET /api/diagnostics/plugins")).body.status).toBe("healthy")
    }),
  )

  it.effect("ends what a key has signed once the key is revoked", () =>
    Effect.gen(function* () {
      const { home, installing, start } = yield* policyPlace
      const { pem } = newSigningKey()
      yield* trustKey(home.plugins, publicKeyOf(pem), "acme")
      const sign = (canonical: string) => signManifest(canonical, pem)
      yield* installing({ wasm: refusing("signed"), sign })
      const { ask, call } = yield* start()
      expect(decided(yield* ask("command.run", command(runId)))).toBe("signed")
      yield* revokeKey(home.plugins, publicKeyOf(pem))
      const listed = yield* until(call("GET /api/plugins"), (seen) => stateOf("guard")(seen) === "refused")
      expect(reportOf(listed, "guard").reasons).toEqual([expect.stringContaining("was revoked at")])
      expect(decided(yield* ask("command.run", command(runId)))).toContain("could not answer")
    }),
  )

  it.effect("keeps what administrators switch over HTTP, also for replicas that start later", () =>
    Effect.gen(function* () {
      const { installing, start } = yield* policyPlace
      yield* installing({ wasm: refusing("no") })
      const first = yield* start()
      const second = yield* start()
      for (const what of [
        "POST /api/plugins/guard/disable",
        "DELETE /api/plugins/guard",
        "GET /api/plugins/guard/grants",
      ]) {
        expect((yield* first.call(what, { as: "ben" })).status).toBe(403)
      }
      expect(yield* first.call("POST /api/plugins/guard/disable")).toMatchObject({ body: { state: "disabled" } })
      expect(decided(yield* first.ask("command.run", command(runId)))).toBe("allow")
      yield* until(second.ask("command.run", command(runId)), (seen) => decided(seen) === "allow")
      expect(yield* first.call("POST /api/plugins/asking/disable")).toMatchObject({ body: { state: "disabled" } })
      yield* until(second.call("GET /api/plugins"), (seen) => stateOf("asking")(seen) === "disabled")

      const third = yield* start()
      const states = yield* third.call("GET /api/plugins")
      expect([stateOf("guard")(states), stateOf("asking")(states)]).toEqual(["disabled", "disabled"])
      expect((yield* third.call("POST /api/plugins/asking/enable")).body.state).toBe("running")
      expect((yield* third.call("POST /api/plugins/guard/enable")).body.state).toBe("running")
      expect(decided(yield* third.ask("command.run", command(runId)))).toBe("no")
      yield* until(first.call("GET /api/plugins"), (seen) => stateOf("asking")(seen) === "running")
      yield* until(first.ask("command.run", command(runId)), (seen) => decided(seen) === "no")

      expect((yield* third.call("DELETE /api/plugins/guard")).status).toBe(204)
      expect((yield* third.call("DELETE /api/plugins/guard")).status).toBe(404)
      expect((yield* third.call("DELETE /api/plugins/asking")).status).toBe(409)
      yield* until(first.ask("command.run", command(runId)), (seen) => decided(seen) === "allow")
    }),
  )

  it.effect("shows, grants and revokes what a policy asks for", () =>
    Effect.gen(function* () {
      const { installing, start } = yield* policyPlace
      const svc = { ...choosesModel, permissions: { config: ["a"] } }
      yield* installing({ name: "chooser", wasm: choosing("one"), svc }, { grant: "all" })
      yield* installing({
        name: "chooser",
        version: "2.0.0",
        wasm: choosing("two"),
        svc: { ...choosesModel, permissions: { config: ["a", "b"] } },
      })
      const { ask, call } = yield* start({ Grantable: ["config:a", "config:b"] })
      expect((yield* call("GET /api/plugins/chooser/grants")).body).toEqual({
        name: "chooser",
        version: "1.0.0",
        granted: ["config:a"],
        waiting: { version: "2.0.0", missing: ["config:b"] },
        problem: null,
      })
      expect((yield* ask("model.choose", model(runId))).body.modelId).toBe("one")
      const wrong = yield* call("POST /api/plugins/chooser/grant", { body: { permissions: ["kv"] } })
      expect(wrong).toMatchObject({ status: 400, body: { error: "invalid_request" } })
      const misspelt = yield* call("POST /api/plugins/chooser/grant", { body: { permission: ["config:b"] } })
      expect(misspelt).toMatchObject({ status: 400, body: { issues: [{ path: "body.permission" }] } })
      const granted = yield* call("POST /api/plugins/chooser/grant", { body: { permissions: ["config:b"] } })
      expect(granted.body).toMatchObject({ version: "2.0.0", granted: ["config:a", "config:b"], waiting: null })
      expect((yield* ask("model.choose", model(runId))).body.modelId).toBe("two")

      const revoked = yield* call("POST /api/plugins/chooser/revoke", { body: { permissions: ["config:a"] } })
      expect(revoked.body).toMatchObject({ granted: ["config:b"], problem: expect.stringContaining("needs config:a") })
      expect((yield* ask("model.choose", model(runId))).body.modelId).toBe("default")
      expect((yield* call("POST /api/plugins/chooser/enable")).status).toBe(409)
      expect((yield* call("POST /api/plugins/asking/grant")).status).toBe(409)
    }),
  )

  it.effect("asks shadows beside the others, records whether they agree, and never listens to them", () =>
    Effect.gen(function* () {
      const { installing, start } = yield* policyPlace
      yield* installing({ name: "active", wasm: answering('{"decision":"allow"}') })
      const { ask, call, log, runs } = yield* start()
      const run = yield* Effect.orDie(
        runs.create({ projectId: null, submittedBy: "ada", agentName: "Writer", task: "write" }),
      )
      yield* installing({ name: "strict", wasm: refusing("never"), svc: { mode: "shadow" } })
      yield* until(call("GET /api/plugins"), (seen) => stateOf("strict")(seen) === "running")
      expect(decided(yield* ask("command.run", command(run.runId), run.runId))).toBe("allow")
      const receipts = yield* until(call("GET /api/plugins/strict/receipts"), ({ body }) => body.length === 1)
      expect(receipts.body).toMatchObject([
        {
          run_id: run.runId,
          question: "command.run",
          role: "shadow",
          answer: { decision: "refuse", reason: "never" },
          agrees: false,
          fuel: expect.any(Number),
        },
      ])
      const events = (yield* Effect.orDie(log.read(run.runId))).filter(({ type }) => type.startsWith("policy."))
      expect(events.map(({ type }) => type)).toEqual(["policy.decision", "policy.shadow"])
      expect((yield* call("GET /api/plugins/active/receipts?limit=5")).body).toMatchObject([
        { run_id: run.runId, role: "consulted", answer: { decision: "allow" }, input_complete: true },
      ])
      expect((yield* call("GET /api/plugins/active/receipts?limit=0")).status).toBe(400)

      // a shadow that breaks closes nothing
      yield* installing({ name: "strict", version: "1.1.0", svc: { mode: "shadow", hooks: { "command.run": "spin" } } })
      const faults = Effect.andThen(
        ask("command.run", command(run.runId), run.runId),
        call("GET /api/plugins/strict/faults"),
      )
      yield* until(faults, ({ body }) => body.length > 0)
      expect(decided(yield* ask("command.run", command(run.runId), run.runId))).toBe("allow")
    }),
  )
})
