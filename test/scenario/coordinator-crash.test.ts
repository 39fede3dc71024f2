/** Replicas that are killed in the middle of a plan: others go on, nothing is done twice, nothing is lost. */
import { type ChildProcess, spawn } from "node:child_process"
import { join } from "node:path"
import { expect, layer } from "@effect/vitest"
import { Effect, Stream } from "effect"
import fc from "fast-check"
import { orchestrate, type Part, play, run } from "#test/scenario/orchestration-team.ts"
import { TestDatabase } from "#test/support/database.ts"
import { makeOrchestra } from "#test/support/orchestra.ts"

const kills = 30
const subtasks = 10

/** Every part adds a line to a file of its own; some stand on others, and show what they found there. */
const parts = Array.from({ length: subtasks }, (_, index): Part => {
  const place = index + 1
  return {
    title: `Part-${place}-`,
    dependsOn: index < 4 ? [] : [place - 4],
    does: () => [run(`echo ${place} >> part-${place}.txt`), run(`ls part-*.txt > seen-${place}.txt`)],
  }
})

/** Repeatable: how many events of the plan and its children go by before each kill. */
const pauses = fc.sample(fc.integer({ min: 1, max: 26 }), { numRuns: kills, seed: 7 })

layer(TestDatabase.layer, { excludeTestServices: true, timeout: "60 seconds" })("a replica", (it) => {
  it.effect(
    `may die at any moment: ${kills} kills of one of two under a plan of ${subtasks}, and it is merged once`,
    () =>
      Effect.gen(function* () {
        const server = yield* TestDatabase
        const leases = { PodLeaseStaleTtlSeconds: 4, PodLeaseHeartbeatSeconds: 1 }
        // this replica answers; it does not work
        const world = yield* makeOrchestra(play({ parts }), {
          settings: { Runs: { Workers: 0 }, Coordinator: leases },
        })
        const { call, repository, service, projectId } = world
        const program = join(import.meta.dirname, "working-service.ts")
        const settings = { ...world.settings, Runs: { Workers: 4 } }
        const replicas: Array<ChildProcess> = []
        const begin = Effect.sync(() => {
          const args = [program, JSON.stringify(server), JSON.stringify(settings)]
          replicas.push(spawn(process.execPath, args, { stdio: ["ignore", "ignore", "inherit"] }))
        })
        yield* Effect.addFinalizer(() => Effect.sync(() => replicas.forEach((each) => each.kill("SIGKILL"))))
        /** The older of the two; what it held is free, as if its leases had run out. */
        const kill = Effect.gen(function* () {
          const [replica] = replicas.splice(0, 1)
          const gone = new Promise((resolve) => replica?.once("exit", resolve))
          replica?.kill("SIGKILL")
          yield* Effect.promise(() => gone)
          yield* Effect.orDie(service.sql`update runs set lease_until = now() where lease_owner is not null`)
        })
        const { body } = yield* call("POST", `/api/projects/${projectId}/orchestrations`, { goal: "Write it all" })
        const { runId, review, events, children } = orchestrate(world, body.runId)
        yield* Effect.addFinalizer(() => call("DELETE", `/api/runs/${runId}`))
        yield* begin
        yield* begin
        let left = kills
        let pause = pauses[0] ?? 1
        const step = Effect.gen(function* () {
          if (--pause > 0 || left === 0) return
          left--
          pause = pauses[kills - left] ?? 1
          yield* kill
          yield* begin
        })
        const watched = new Set<string>()
        const childEvents = (childRunId: string) =>
          service.log.follow(childRunId).pipe(
            Stream.tap(() => step),
            Stream.runDrain,
            Effect.forkScoped,
          )
        yield* service.log.follow(runId).pipe(
          Stream.runForEachWhile((event) =>
            Effect.gen(function* () {
              const { childRunId } = JSON.parse(event.payload)
              if (event.type === "subtask.dispatched" && !watched.has(childRunId)) {
                watched.add(childRunId)
                yield* childEvents(childRunId)
              }
              if (event.type === "review.requested") yield* review({ approved: true })
              if (event.type === "run.failed") expect.fail(event.payload)
              yield* step
              return event.type !== "merge.completed"
            }),
          ),
        )
        expect(left).toBe(0)
        expect((yield* call("GET", `/api/runs/${runId}`)).body).toMatchObject({ status: "merged" })
        for (let place = 1; place <= subtasks; place++) {
          expect(repository.git("show", `main:part-${place}.txt`), "a line was written once").toBe(String(place))
        }
        for (const type of ["coordinator.work_plan", "coordinator.assembly_completed", "merge.completed"]) {
          expect(yield* events(type), type).toHaveLength(1)
        }
        expect(yield* children).toHaveLength(subtasks)
        expect(repository.git("rev-list", "--merges", "--count", "main")).toBe("1")
        const all = yield* service.log.read(runId)
        expect(all.map((event) => event.sequence)).toEqual(all.map((_, index) => index + 1))
      }),
    { timeout: 150_000 },
  )
})
