import { expect, layer } from "@effect/vitest"
import { Deferred, Duration, Effect } from "effect"
import { newId } from "#core/ids.ts"
import { Runs } from "#core/run/runs.ts"
import { RunWaits } from "#core/run/waits.ts"
import { workChannel } from "#core/run/work-store.ts"
import { Sql } from "#core/sql.ts"
import { coreServices } from "#test/support/core-services.ts"

const spec = { projectId: null, submittedBy: "ada", agentName: "Writer", task: "write it" }
const patience = Duration.minutes(5)

layer(coreServices(), { excludeTestServices: true, timeout: "60 seconds" })("a child that asks", (it) => {
  it.effect("is heard by whoever drives its parent at once, whatever it asks for", () =>
    Effect.gen(function* () {
      const runs = yield* Runs
      const waits = yield* RunWaits
      const sql = yield* Sql
      const parent = yield* runs.create(spec)
      const { runId } = yield* runs.create({ ...spec, parentRunId: parent.runId })
      const asking = [
        waits.answerTo({ runId, callId: "1", patience, question: "Which?" }),
        waits.permitTool({ runId, callId: "2", patience, toolName: "web_fetch", subject: newId() }),
      ]
      for (const ask of asking) {
        const heard = yield* Deferred.make<string>()
        const listening = yield* Deferred.make<void>()
        yield* Effect.scoped(
          Effect.gen(function* () {
            yield* sql.listen(
              workChannel,
              (told) => void Deferred.doneUnsafe(heard, Effect.succeed(told)),
              () => void Deferred.doneUnsafe(listening, Effect.void),
            )
            yield* Deferred.await(listening)
            yield* ask
            expect(yield* Deferred.await(heard)).toBe(parent.runId)
          }),
        )
      }
    }),
  )
})
