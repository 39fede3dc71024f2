/** Two replicas on one database, under writers and readers at once. */
import { expect, layer } from "@effect/vitest"
import { Effect, Ref, Schema } from "effect"
import fc from "fast-check"
import { defineEvent } from "#core/event.ts"
import { TestDatabase } from "#test/support/database.ts"
import { startService, users } from "#test/support/service.ts"
import { openStream } from "#test/support/sse.ts"

const Written = defineEvent("test.written", Schema.Struct({ writer: Schema.Int, n: Schema.Int }))

const runCount = 1_000
const writerCount = 32
const readerCount = 50
const appendsOfEach = 250

const ada = { authorization: `Bearer ${users.ada}` }
const upTo = (n: number) => Array.from({ length: n }, (_, i) => i + 1)

/** Repeatable: the same numbers in every run of the test. */
const dice = fc.sample(fc.nat(), { numRuns: 5_000, seed: 7 })
const roll = (i: number, sides: number): number => (dice[i % dice.length] ?? 0) % sides

layer(TestDatabase.layer, { excludeTestServices: true, timeout: "60 seconds" })("two replicas", (it) => {
  it.effect(
    `lose, repeat and skip nothing: ${writerCount} writers, ${runCount} runs, ${readerCount} readers that come and go`,
    () =>
      Effect.gen(function* () {
        const replicas = [yield* startService(), yield* startService()] as const
        const runIds = yield* Effect.forEach(
          upTo(runCount),
          () =>
            Effect.map(
              replicas[0].runs.create({ projectId: null, submittedBy: "ada", agentName: "Writer", task: "write" }),
              (run) => run.runId,
            ),
          { concurrency: 8 },
        )
        const acknowledged = new Map<string, Array<number>>(runIds.map((runId) => [runId, []]))
        const writing = yield* Ref.make(true)

        const writer = (w: number) =>
          Effect.forEach(upTo(appendsOfEach), (n) => {
            // half of all appends go to the few runs that are read
            const runId = runIds[n % 2 === 0 ? roll(w * 997 + n, 10) : roll(w * 31 + n, runCount)] ?? ""
            const { log } = replicas[(w + n) % 2 === 0 ? 0 : 1]
            return Effect.map(log.append(runId, [Written.of({ writer: w, n })]), ([event]) => {
              acknowledged.get(runId)?.push(event?.sequence ?? 0)
            })
          })

        const reader = (r: number) =>
          Effect.gen(function* () {
            const runId = runIds[r % 10] ?? ""
            const seen: Array<number> = []
            for (let visit = 0; ; visit++) {
              const last = !(yield* Ref.get(writing))
              const { url } = replicas[roll(r * 13 + visit, 2) === 0 ? 0 : 1]
              const target = last
                ? (yield* replicas[0].log.read(runId, { after: seen.length })).length
                : 1 + roll(r + visit, 40)
              yield* Effect.scoped(
                Effect.gen(function* () {
                  const stream = yield* openStream(`${url}/api/runs/${runId}/stream`, {
                    ...ada,
                    "last-event-id": String(seen.length),
                  })
                  yield* Effect.promise(() => stream.until((frames) => frames.length >= target)).pipe(
                    // nothing more may come for a reader that is up to date: it leaves when the writers are done
                    Effect.raceFirst(last ? Effect.never : untilWritten),
                  )
                  seen.push(...stream.frames.flatMap((frame) => (frame.id === undefined ? [] : [Number(frame.id)])))
                }),
              )
              if (last) return { runId, seen }
            }
          })
        const untilWritten = Effect.gen(function* () {
          while (yield* Ref.get(writing)) yield* Effect.sleep("20 millis")
        })

        const [, readers] = yield* Effect.all(
          [
            Effect.forEach(upTo(writerCount), writer, { concurrency: "unbounded", discard: true }).pipe(
              Effect.ensuring(Ref.set(writing, false)),
            ),
            Effect.forEach(upTo(readerCount), reader, { concurrency: "unbounded" }),
          ],
          { concurrency: "unbounded" },
        )

        const { sql } = replicas[0]
        const stored = new Map(
          (yield* sql<{ run_id: string; count: number; last: number }>`
            select run_id, count(*)::int as count, max(sequence) as last from events group by run_id`).map(
            (row) => [row.run_id, row] as const,
          ),
        )
        for (const runId of runIds) {
          const { count, last } = stored.get(runId) ?? { count: 0, last: 0 }
          expect(count, "gapless").toBe(last)
          const mine = acknowledged.get(runId) ?? []
          expect(new Set(mine).size, "every acknowledged sequence once").toBe(mine.length)
          // the first event of each run is that of its creation
          expect(mine.length, "nothing lost, nothing repeated").toBe(last - 1)
        }
        expect([...stored.values()].reduce((sum, row) => sum + row.count, 0)).toBe(
          runCount + writerCount * appendsOfEach,
        )
        for (const { runId, seen } of readers) expect(seen).toEqual(upTo(stored.get(runId)?.last ?? 0))
      }),
    { timeout: 120_000 },
  )
})
