/** Two replicas that work, one or the other killed again and again under a plan of ten subtasks. */
import { type ChildProcess, spawn } from "node:child_process"
import { join } from "node:path"
import { expect, layer } from "@effect/vitest"
import { Effect, Stream } from "effect"
import fc from "fast-check"
import { TestDatabase } from "#test/support/database.ts"
import { isReviewer, makeOrchestra, type Playing, resultsSince } from "#test/support/orchestra.ts"

const kills = 30
const width = 10

const parts = Array.from({ length: width }, (_, n) => ({
  title: `Part number ${n}.`,
  scope: `file-${n}.txt`,
  role: "backend-engineer",
  complexity: "low",
  phase: "execution",
  isolation: "worktree",
  // a diamond: the first, then eight beside each other, then the last
  depends_on: n === 0 ? [] : n < width - 1 ? [1] : Array.from({ length: width - 2 }, (_, i) => i + 2),
}))

const team: Playing = (request) => {
  if (isReviewer(request)) return { text: "VERDICT: GREEN" }
  const isAgent = (request.body.tools ?? []).length > 0
  if (!isAgent) return { text: JSON.stringify(parts) }
  const told = JSON.stringify(request.body.messages)
  const [, n = "0"] = /Part number (\d+)\./.exec(told) ?? []
  const [, plan = "0"] = /plan (\d+)/.exec(told) ?? []
  // a call that was cut off with its worker is made again
  if (resultsSince(request) >= 3) return { text: "Done." }
  return {
    calls: [{ name: "write_file", arguments: { path: `plan-${plan}/file-${n}.txt`, content: `${n}\n` } }],
    finishReason: "tool_calls",
  }
}

/** What a step tells before it is stored, and what is told of the kill itself. */
const repeated: ReadonlySet<string> = new Set([
  "policy.decision",
  "memory.context_composition",
  "agent.turn.usage",
  "run.error",
  "coordinator.recovered",
  "coordinator.step_retrying",
])

/** Repeatable: events of the coordinator and its children between two kills. */
const pauses = fc.sample(fc.integer({ min: 3, max: 9 }), { numRuns: kills, seed: 23 })

layer(TestDatabase.layer, { excludeTestServices: true, timeout: "60 seconds" })("a replica", (it) => {
  it.effect(
    `may die at any moment of a plan: ${kills} kills of one of two under ${width} subtasks, and one merge`,
    () =>
      Effect.gen(function* () {
        const server = yield* TestDatabase
        // long: that of a killed replica runs out when it is killed, that of a slow one must not
        const leases = { PodLeaseStaleTtlSeconds: 15, PodLeaseHeartbeatSeconds: 1 }
        const world = yield* makeOrchestra(team, { settings: { Runs: { Workers: 0 }, Coordinator: leases } })
        const { call, projectId, repository, service } = world
        const program = join(import.meta.dirname, "working-service.ts")
        const settings = { ...world.settings, Runs: { Workers: 4 } }
        const args = [program, JSON.stringify(server), JSON.stringify(settings)]
        const begin = (): ChildProcess => spawn(process.execPath, args, { stdio: ["ignore", "ignore", "inherit"] })
        const replicas = [begin(), begin()]
        const runIds: Array<string> = []
        yield* Effect.addFinalizer(() =>
          Effect.gen(function* () {
            for (const replica of replicas) replica.kill("SIGKILL")
            // killed replicas leave their mounts behind
            for (const runId of runIds) yield* Effect.ignore(call("DELETE", `/api/runs/${runId}`))
          }),
        )
        let left = kills
        let pause = pauses[0] ?? 1
        const kill = Effect.gen(function* () {
          const at = left % 2
          const victim = replicas[at]
          const gone = new Promise((resolve) => victim?.once("exit", resolve))
          victim?.kill("SIGKILL")
          yield* Effect.promise(() => gone)
          // its leases have run out, and nobody else's
          yield* Effect.orDie(service.sql`
            update runs set lease_until = now() where lease_owner like ${`%-${victim?.pid}-%`}`)
          replicas[at] = begin()
        })
        // there are plans until every kill has had its turn
        while (left > 0) {
          const goal = `Write all the files of plan ${runIds.length}`
          const started = yield* call("POST", `/api/projects/${projectId}/orchestrations`, { goal })
          const runId: string = started.body.runId
          runIds.push(runId)
          yield* service.log.follow(runId).pipe(
            Stream.runForEachWhile((event) =>
              Effect.gen(function* () {
                if (event.type === "review.requested" || event.type === "coordinator.assembly_review_requested") {
                  const review = { approved: true }
                  const said = yield* call("POST", `/api/runs/${runId}/assembly/review`, review)
                  expect([200, 409], JSON.stringify(said.body)).toContain(said.status)
                }
                expect(["run.failed", "merge.failed"], event.payload).not.toContain(event.type)
                // of a step that is begun again and again nothing but its progress brings the next kill nearer
                const counts = !repeated.has(event.type)
                if (counts && --pause <= 0 && left > 0) {
                  left--
                  pause = pauses[kills - left] ?? 1
                  yield* kill
                }
                return event.type !== "merge.completed"
              }),
            ),
          )
          const log = yield* service.log.read(runId)
          expect(log.map((event) => event.sequence)).toEqual(log.map((_, index) => index + 1))
          expect(log.filter(({ type }) => type === "merge.completed")).toHaveLength(1)
          expect(log.filter(({ type }) => type === "coordinator.work_plan")).toHaveLength(1)
          const plan = `plan-${runIds.length - 1}`
          const files = repository.git("ls-tree", "--name-only", `main:${plan}`).split("\n")
          expect(files).toEqual(parts.map((_, n) => `file-${n}.txt`))
        }
        expect(repository.git("rev-list", "--merges", "--first-parent", "--count", "main")).toBe(String(runIds.length))
      }),
    { timeout: 170_000 },
  )
})
