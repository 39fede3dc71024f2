/** The orchestration of `npm run demo`, recorded: everything is real but the words of the models. */
import { fileURLToPath } from "node:url"
import { Context, Deferred, Effect, Schema } from "effect"
import type { SettingsInput } from "#core/settings.ts"
import { newApiKey } from "#runtime/api-key.ts"
import { CoordinatorStore } from "#runtime/coordinator/store.ts"
import { makeClient } from "#runtime/demo/client.ts"
import { makeRepository } from "#runtime/demo/repository.ts"
import { startReplica } from "#runtime/main.ts"
import { makeRecorder } from "#test/golden/recorder.ts"
import { recordingOf } from "#test/golden/recording.ts"

const Project = Schema.Struct({ project_id: Schema.String })
const Started = Schema.Struct({ runId: Schema.String })
const Accepted = Schema.Struct({ accepted: Schema.Boolean })

const key = newApiKey()

export const demoSettings: SettingsInput = {
  Server: { Port: 0 },
  Auth: { Keys: [{ Token: key, User: "demo" }], PlatformAdministrators: ["demo"] },
  Providers: {
    Default: "scripted",
    Scripted: { Path: fileURLToPath(new URL("../../runtime/demo/script.yml", import.meta.url)) },
  },
}

/** On services of these settings; `folder` is where the repository goes. */
export const demo = Effect.fnUntraced(function* (folder: string) {
  const recorder = makeRecorder(yield* CoordinatorStore)
  const services = Context.add(
    yield* Effect.context<Effect.Services<ReturnType<typeof startReplica>>>(),
    CoordinatorStore,
    recorder.store,
  )
  const { port, ready } = yield* Effect.provideContext(startReplica({ safeMode: true }), services)
  yield* Effect.provideContext(ready, services)
  const client = makeClient({ port, key })
  const repository = yield* makeRepository(folder)
  const { project_id } = yield* client.post(
    "/api/projects",
    { name: "village-hall", origin: "blank", working_directory: repository.path },
    Project,
  )
  const { runId } = yield* client.post(
    `/api/projects/${project_id}/orchestrations`,
    { goal: "Give the web site of the village hall a guest book.", auto_approve_tools: true, autopilot: true },
    Started,
  )
  const reviewable = yield* Deferred.make<void>()
  const ended = yield* Deferred.make<void>()
  yield* Effect.forkScoped(
    client.follow(runId, ({ type }) => {
      if (type === "review.requested") Deferred.doneUnsafe(reviewable, Effect.void)
      if (type === "merge.completed" || type === "run.failed") Deferred.doneUnsafe(ended, Effect.void)
    }),
  )
  yield* Deferred.await(reviewable)
  yield* client.post(`/api/runs/${runId}/assembly/review`, { approved: true, request_changes: false }, Accepted)
  yield* Deferred.await(ended)
  // the last look
  const known = yield* recorder.store.load(runId)
  yield* recorder.store.load(runId, known?.limits)
  yield* recorder.store.now
  return recordingOf(recorder, runId)
})
