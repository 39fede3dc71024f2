/** A replica for the streams bench: the service as it is, told what to append by its parent process. */
import { Context, Effect, Layer } from "effect"
import { Delta } from "#bench/streams/delta.ts"
import { EventLog } from "#core/event-log.ts"
import { Runs } from "#core/run/runs.ts"
import { Settings, settingsForTests } from "#core/settings.ts"
import { type Server, Sql } from "#core/sql.ts"
import { startReplica } from "#runtime/main.ts"
import { coreServices } from "#runtime/services.ts"

export type Command =
  | { readonly do: "create" }
  /** Appends `perSecond` events a second, one by one, and answers the time of each commit. */
  | { readonly do: "pace"; readonly runId: string; readonly perSecond: number; readonly count: number }
  /** Appends as fast as it goes. */
  | { readonly do: "flood"; readonly runId: string; readonly count: number; readonly atOnce: number }
  | { readonly do: "memory" }

export interface Commit {
  readonly sequence: number
  /** Milliseconds since 1970, with fractions. */
  readonly at: number
}

const now = (): number => performance.timeOrigin + performance.now()

const program = Effect.gen(function* () {
  const server: Server = JSON.parse(process.argv[2] ?? "{}")
  const settings = settingsForTests({
    Server: { Port: 0 },
    Auth: { Keys: [{ User: "bench", Token: process.argv[3] ?? "" }] },
  })
  const services = yield* Layer.build(
    coreServices.pipe(Layer.provideMerge(Sql.layer({ server })), Layer.provideMerge(Layer.succeed(Settings, settings))),
  )
  const { port, ready } = yield* Effect.provideContext(startReplica(), services)
  yield* Effect.provideContext(ready, services)
  const log = Context.get(services, EventLog)
  const runs = Context.get(services, Runs)

  const append = (runId: string) =>
    Effect.map(log.append(runId, [Delta]), ([event]): Commit => ({ sequence: event?.sequence ?? 0, at: now() }))

  const pace = (runId: string, perSecond: number, count: number) =>
    Effect.gen(function* () {
      const commits: Array<Commit> = []
      const begin = performance.now()
      let asked = 0
      let answered = 0
      while (asked < count) {
        const due = Math.min(count, Math.ceil(((performance.now() - begin) / 1_000) * perSecond))
        for (; asked < due; asked++) {
          yield* Effect.forkChild(
            Effect.map(append(runId), (commit) => {
              commits.push(commit)
              answered++
            }),
          )
        }
        yield* Effect.sleep("1 millis")
      }
      while (answered < count) yield* Effect.sleep("5 millis")
      return commits
    })

  const obey = (command: Command): Effect.Effect<unknown, unknown> => {
    switch (command.do) {
      case "create":
        return Effect.map(
          runs.create({ projectId: null, submittedBy: "bench", agentName: "Writer", task: "bench" }),
          (run) => run.runId,
        )
      case "pace":
        return pace(command.runId, command.perSecond, command.count)
      case "flood":
        return Effect.forEach(
          Array.from({ length: Math.ceil(command.count / command.atOnce) }),
          () =>
            log.append(
              command.runId,
              Array.from({ length: command.atOnce }, () => Delta),
            ),
          { discard: true },
        )
      case "memory":
        return Effect.sync(() => {
          globalThis.gc?.()
          return process.memoryUsage().rss
        })
    }
  }
  const run = Effect.runForkWith(services)
  process.on("message", (command: Command) => {
    run(Effect.map(obey(command), (answer) => void process.send?.({ answer })))
  })
  process.send?.({ port })
  return yield* Effect.never
})

await Effect.runPromise(Effect.scoped(program))
