/**
 * `npm run demo`: the service at work, from a goal to a merged change. It starts the service on a database of its own,
 * makes a small web site, lets a team of agents build a guest book for it, and shows what happens. What the agents say
 * is written down in `script.yml`, unless a model is asked for; everything else is real.
 *
 * Exit codes: 0 merged, and the tests of what was merged pass; 1 not; 2 wrong usage; 130 stopped by Ctrl-C.
 */
import { writeFile } from "node:fs/promises"
import { join } from "node:path"
import { Cause, Effect, Exit, Option, Schema } from "effect"
import { redact } from "#core/redaction.ts"
import { makeClient } from "#runtime/demo/client.ts"
import { DemoFailed } from "#runtime/demo/failed.ts"
import { makeFolders } from "#runtime/demo/folder.ts"
import { type Options, readOptions } from "#runtime/demo/options.ts"
import { providersOfSettings } from "#runtime/demo/provider.ts"
import { placesToLook, reportMerged } from "#runtime/demo/report.ts"
import { makeRepository } from "#runtime/demo/repository.ts"
import { review } from "#runtime/demo/review.ts"
import { startService } from "#runtime/demo/service.ts"
import { makeScreen } from "#runtime/demo/view/screen.ts"
import { watch } from "#runtime/demo/watch.ts"
import { stopSignal } from "#runtime/stop-signals.ts"

const goal =
  "Give the web site of the village hall a guest book: visitors read it at /guest-book and sign it with their name and a text. With tests, and a section in the README."

const Project = Schema.Struct({ project_id: Schema.String })
const Started = Schema.Struct({ runId: Schema.String })

const demo = Effect.fnUntraced(function* ({ yes, exit, model, folder }: Options) {
  const screen = yield* makeScreen
  const { root, service } = yield* makeFolders(folder)
  screen.say(
    model
      ? "The agents think with the provider of your settings."
      : "The agents are scripted: what they say is written in runtime/demo/script.yml, and no model is asked. The rest is real.",
  )
  const providers = model ? yield* providersOfSettings : null
  const repository = yield* makeRepository(root)
  screen.say(`Starting the service, with a database of its own, in ${root}`)
  const { port, key, log } = yield* startService(service, providers)
  const keyFile = join(service, "api-key")
  yield* Effect.promise(() => writeFile(keyFile, key, { mode: 0o600 }))
  const address = `http://127.0.0.1:${port}`
  const client = makeClient({ port, key })
  screen.say(`It is ready on ${address}. The repository is ${repository.path}\n`)

  const project = yield* client.post(
    "/api/projects",
    { name: "village-hall", origin: "blank", working_directory: repository.path },
    Project,
  )
  screen.say(`Goal: ${goal}`)
  const { runId } = yield* client.post(
    `/api/projects/${project.project_id}/orchestrations`,
    { goal, start_mode: "direct", auto_approve_tools: true, autopilot: true },
    Started,
  )
  const watching = yield* watch(client, runId, screen)
  const stuck = (reason: string) =>
    new DemoFailed({ message: `The run cannot go on. ${reason}\nWhat the service logged: ${log}` })

  while (true) {
    const { end } = yield* screen.whileDrawing(
      watching.story,
      watching.until((story) => story.inReview || story.end !== null),
    )
    if (end === null) {
      yield* review(client, runId, { screen, yes })
      yield* watching.until((story) => !story.inReview)
      continue
    }
    if (end._tag === "Stuck") return yield* stuck(end.reason)
    if (end._tag === "Declined") return yield* new DemoFailed({ message: "Declined: nothing was merged." })
    break
  }
  yield* reportMerged({ screen, client, repository }, [runId, ...watching.children()])
  for (const line of placesToLook({ repository: repository.path, address, keyFile, runId }, !exit)) screen.say(line)
  if (!exit) return "left running" as const
  return "done" as const
})

const options = readOptions(process.argv.slice(2))
if (options !== undefined) {
  let merged = false
  let stopped = false
  const whole = demo(options).pipe(
    Effect.tap(() => Effect.sync(() => (merged = true))),
    Effect.flatMap((end) => (end === "left running" ? Effect.never : Effect.void)),
    Effect.scoped,
  )
  const untilAsked = Effect.flatMap(stopSignal, ({ asked }) =>
    Effect.raceFirst(
      whole,
      Effect.tap(asked, () => Effect.sync(() => (stopped = true))),
    ),
  )
  const ended = await Effect.runPromiseExit(Effect.scoped(untilAsked))
  if (stopped && !merged) {
    process.stderr.write("\nStopped.\n")
    process.exitCode = 130
  } else if (Exit.isFailure(ended) && !merged) {
    const failure = Option.getOrUndefined(Cause.findErrorOption(ended.cause))
    process.stderr.write(`\n${redact(failure?.message ?? Cause.pretty(ended.cause))}\n`)
    process.exitCode = 1
  }
}
