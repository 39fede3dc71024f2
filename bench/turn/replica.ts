/** A service on the bench's database that works on runs of one repository, with a model that answers at once. */
import { execFile } from "node:child_process"
import { mkdir, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { promisify } from "node:util"
import { Context, Duration, Effect, Layer, Stream } from "effect"
import type { BenchDatabase } from "#bench/database.ts"
import { replyAt, type Shape, scriptOf } from "#bench/turn/shape.ts"
import { EventLog } from "#core/event-log.ts"
import { Sandbox } from "#core/ports/sandbox.ts"
import { Runs } from "#core/run/runs.ts"
import { Settings, settingsForTests } from "#core/settings.ts"
import { Sql } from "#core/sql.ts"
import { startReplica } from "#runtime/main.ts"
import { coreServices } from "#runtime/services.ts"
import { type OpenAiServer, startOpenAiServer } from "#test/fakes/openai-server.ts"

const run = promisify(execFile)
const key = "bench-key-0123456789"

const makeRepository = async (path: string): Promise<void> => {
  await mkdir(path)
  await writeFile(join(path, "README.md"), "# A project\n")
  const identity = ["-c", "user.name=Bench", "-c", "user.email=bench@example.org"]
  const git = (...args: ReadonlyArray<string>) =>
    run("git", [...identity, "-C", path, ...args], { env: { PATH: process.env.PATH, GIT_CONFIG_GLOBAL: "/dev/null" } })
  await git("init", "--quiet", "--initial-branch=main")
  await git("add", "-A")
  await git("commit", "--quiet", "-m", "first")
}

/** The shape is named by the task; results are counted in the conversation. */
const modelOf = (shapes: ReadonlyArray<Shape>) =>
  startOpenAiServer(({ body }) => {
    const messages: ReadonlyArray<{ readonly role: string; readonly content: unknown }> = body.messages
    const task = messages.findLast(({ role }) => role === "user")
    const shape = shapes.find(({ name }) => String(task?.content).includes(name))
    if (shape === undefined) throw new Error("the model was asked about something else")
    return replyAt(shape, messages.filter(({ role }) => role === "tool").length)
  })

export interface Worked {
  /** From the start of the first turn to the end of the last one. */
  readonly milliseconds: number
  /** Transactions, and savepoints in them, that wrote something: all of the database's in the life of the run. */
  readonly transactions: number
}

export interface Replica {
  readonly repository: string
  readonly model: OpenAiServer
  readonly work: (shape: Shape, source: "hosted" | "scripted") => Effect.Effect<Worked>
  /** One event, committed, again and again: milliseconds each. */
  readonly commit: (count: number) => Effect.Effect<number>
  /** One command in the sandbox, again and again: milliseconds each. */
  readonly command: (count: number) => Effect.Effect<number>
}

const each = Effect.fnUntraced(function* <E>(count: number, work: Effect.Effect<unknown, E>) {
  const begin = performance.now()
  for (let done = 0; done < count; done++) yield* work
  return (performance.now() - begin) / count
})

export const startBenchReplica = Effect.fnUntraced(function* (database: BenchDatabase, shapes: ReadonlyArray<Shape>) {
  const repository = join(database.folder, "repository")
  const script = join(database.folder, "script.yml")
  yield* Effect.promise(() => makeRepository(repository))
  yield* Effect.promise(() => writeFile(script, scriptOf(shapes)))
  const model = yield* modelOf(shapes)
  const settings = settingsForTests({
    Server: { Port: 0 },
    Data: { Directory: join(database.folder, "data") },
    Auth: { Keys: [{ User: "ada", Token: key }] },
    RunBounds: { MaxSteps: 10_000, MaxMinutes: 60 },
    Providers: { Hosted: { BaseUrl: model.url, Model: "gpt-bench", ApiKey: key }, Scripted: { Path: script } },
    Logging: { Level: "error" },
  })
  const { socketFolder: host, port, user, name } = database
  const services = yield* Layer.build(
    coreServices.pipe(
      Layer.provideMerge(Sql.layer({ server: { host, port, user, database: name } })),
      Layer.provideMerge(Layer.succeed(Settings, settings)),
    ),
  )
  const replica = yield* Effect.provideContext(startReplica(), services)
  yield* Effect.provideContext(replica.ready, services)
  const log = Context.get(services, EventLog)
  const sql = Context.get(services, Sql)
  const sandbox = Context.get(services, Sandbox)
  const url = `http://127.0.0.1:${replica.port}/api/runs`

  const start = (task: string, source: string) =>
    Effect.promise(async () => {
      const response = await fetch(url, {
        method: "POST",
        headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
        body: JSON.stringify({ repository_path: repository, task, model_source: source }),
      })
      const { run_id, message } = (await response.json()) as { readonly run_id?: string; readonly message?: string }
      if (run_id === undefined) throw new Error(`the run was not started: ${message}`)
      return run_id
    })
  const transactionId = Effect.map(sql<{ readonly id: string }>`select pg_current_xact_id()::text as id`, ([row]) =>
    Number(row?.id),
  )
  const idle = yield* Context.get(services, Runs).create({
    projectId: null,
    submittedBy: "ada",
    agentName: null,
    task: "nothing",
  })
  const appended = log.append(idle.runId, [{ type: "bench.event", payload: "{}", mayEndRun: false }])
  return {
    repository,
    model,
    work: (shape, source) =>
      Effect.gen(function* () {
        const before = yield* transactionId
        const runId = yield* start(shape.name, source)
        const events = yield* Stream.runCollect(
          Stream.takeUntil(log.follow(runId), ({ type }) => type === "run.completed" || type === "run.failed"),
        )
        if (events.at(-1)?.type !== "run.completed") throw new Error(`the run failed: ${events.at(-1)?.payload}`)
        const at = (found: { readonly timestamp: string } | undefined) => Date.parse(found?.timestamp ?? "")
        const first = events.find(({ type }) => type === "agent.turn.start")
        const last = events.findLast(({ type }) => type === "agent.turn.end")
        return { milliseconds: at(last) - at(first), transactions: (yield* transactionId) - before - 1 }
      }).pipe(Effect.orDie),
    commit: (count) => Effect.orDie(each(count, appended)),
    command: (count) =>
      Effect.orDie(
        each(
          count,
          sandbox.run({
            command: "true",
            workingDirectory: repository,
            mounts: [],
            network: false,
            direct: false,
            timeout: Duration.seconds(20),
            maxOutputBytes: 1_024,
            environment: {},
            onOutput: () => Effect.void,
          }),
        ),
      ),
  } satisfies Replica
})
