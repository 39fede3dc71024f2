/** Workers that are killed in the middle of runs: others go on, and nothing is done twice or lost. */
import { type ChildProcess, spawn } from "node:child_process"
import { join } from "node:path"
import { expect, layer } from "@effect/vitest"
import { Effect, Stream } from "effect"
import fc from "fast-check"
import { TestDatabase } from "#test/support/database.ts"
import { agentThat, makeOrchestra, type Playing } from "#test/support/orchestra.ts"

const kills = 20
const runCount = 6

/** Every command leaves a line of its own: one that ran twice is seen. Each run has files of its own. */
const agent: Playing = (request, index) => {
  const [, n = "0"] = /Task (\d+)/.exec(JSON.stringify(request.body.messages)) ?? []
  const calls = [
    ["run_command", { command: `echo one >> log-${n}.txt` }],
    ["write_file", { path: `made-${n}.txt`, content: "made\n" }],
    ["run_command", { command: `echo two >> log-${n}.txt` }],
    ["read_file", { path: "README.md" }],
    ["run_command", { command: `echo three >> log-${n}.txt` }],
  ] as const
  return agentThat(calls)(request, index)
}

/** Repeatable: how many events go by before each kill. */
const pauses = fc.sample(fc.integer({ min: 12, max: 36 }), { numRuns: kills, seed: 11 })

layer(TestDatabase.layer, { excludeTestServices: true, timeout: "60 seconds" })("a worker", (it) => {
  it.effect(
    `may die at any moment: ${kills} kills under ${runCount} runs, and every run ends right and is merged once`,
    () =>
      Effect.gen(function* () {
        const server = yield* TestDatabase
        const leases = { PodLeaseStaleTtlSeconds: 15, PodLeaseHeartbeatSeconds: 1 }
        // this replica answers; it does not work
        const world = yield* makeOrchestra(agent, { settings: { Runs: { Workers: 0 }, Coordinator: leases } })
        const { call, repository, service, start, until } = world
        const program = join(import.meta.dirname, "working-service.ts")
        const settings = { ...world.settings, Runs: { Workers: runCount } }
        let worker: ChildProcess | undefined
        const work = Effect.sync(() => {
          const args = [program, JSON.stringify(server), JSON.stringify(settings)]
          worker = spawn(process.execPath, args, { stdio: ["ignore", "ignore", "inherit"] })
        })
        const written = new Map<string, number>()
        const kill = Effect.gen(function* () {
          const gone = new Promise((resolve) => worker?.once("exit", resolve))
          worker?.kill("SIGKILL")
          yield* Effect.promise(() => gone)
          // its leases have run out
          yield* Effect.orDie(service.sql`update runs set lease_until = now() where lease_owner is not null`)
          // what it had written is not the work of the next one
          for (const runId of runIds) {
            const stored = yield* Effect.orDie(service.log.read(runId))
            written.set(runId, stored.at(-1)?.sequence ?? 0)
          }
        })
        const runIds: Array<string> = []
        // a killed worker leaves its mounts behind
        yield* Effect.addFinalizer(() =>
          Effect.andThen(
            Effect.sync(() => worker?.kill("SIGKILL")),
            Effect.forEach(runIds, (runId) => call("DELETE", `/api/runs/${runId}`)),
          ),
        )
        yield* work
        let left = kills
        /** The runs that have ended, and how: merged, or with nothing to merge where every call was cut off. */
        const ended = new Map<string, string>()
        const approve = Effect.fnUntraced(function* (runId: string) {
          const { body } = yield* call("GET", `/api/runs/${runId}`)
          if (body.status !== "awaiting_review") return
          const said = yield* call("POST", `/api/runs/${runId}/review`, { approved: true })
          expect([200, 409], JSON.stringify(said.body)).toContain(said.status)
        })
        let pause = pauses[0] ?? 1
        const follow = (wave: ReadonlyArray<string>) =>
          Stream.mergeAll(
            wave.map((runId) => service.log.follow(runId)),
            { concurrency: "unbounded" },
          )
        // a slow machine has fewer events to count: there are runs until every kill has had its turn
        while (left > 0) {
          const wave: Array<string> = []
          for (let n = 0; n < runCount; n++) wave.push(yield* start(`Task ${runIds.length + n}`))
          runIds.push(...wave)
          yield* follow(wave).pipe(
            Stream.runForEachWhile((event) =>
              Effect.gen(function* () {
                // a merge that was held up waits for the person again
                if (event.type === "review.requested" || event.type === "run.error") yield* approve(event.runId)
                if (event.type === "merge.completed" || event.type === "run.completed")
                  ended.set(event.runId, event.type)
                if (event.type === "run.failed" || event.type === "merge.failed") {
                  expect.fail(`${event.runId}: ${event.type} ${event.payload}`)
                }
                // what tells of the kill itself does not bring the next one nearer
                const counts = event.type !== "run.error" && event.sequence > (written.get(event.runId) ?? 0)
                if (counts && --pause <= 0 && left > 0) {
                  left--
                  pause = pauses[kills - left] ?? 1
                  yield* kill
                  yield* work
                }
                return wave.some((runId) => !ended.has(runId))
              }),
            ),
          )
        }
        const merged = runIds.filter((runId) => ended.get(runId) === "merge.completed")
        expect(merged.length).toBeGreaterThan(0)
        for (const runId of runIds) {
          const all = yield* service.log.read(runId)
          expect(all.map((event) => event.sequence)).toEqual(all.map((_, index) => index + 1))
          expect((yield* call("GET", `/api/runs/${runId}`)).body.ended_at).not.toBeNull()
        }
        for (const runId of merged) {
          const name = `log-${runIds.indexOf(runId)}.txt`
          const types = yield* until(runId, "merge.completed")
          expect(types.filter((type) => type === "merge.completed")).toHaveLength(1)
          expect(types.filter((type) => type === "review.requested")).toHaveLength(1)
          const made = repository.git("ls-tree", "--name-only", `svc/${runId}`).split("\n")
          const log = made.includes(name) ? repository.git("show", `svc/${runId}:${name}`).split("\n") : []
          expect(new Set(log).size, "no command ran twice").toBe(log.length)
          // merged into the branch
          expect(repository.git("merge-base", "--is-ancestor", `svc/${runId}`, "main")).toBe("")
        }
        // and once
        expect(repository.git("rev-list", "--merges", "--count", "main")).toBe(String(merged.length))
        const taken = yield* service.sql<{ n: number }>`
          select count(*)::int as n from events where type = 'run.error'`
        expect(taken[0]?.n).toBeGreaterThan(0)
      }),
    { timeout: 200_000 },
  )
})
