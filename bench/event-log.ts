/**
 * Appended events per second and their latency, for 1, 8, 32 and 256 writers over 1,000 runs, beside,
 * in the same run and on the same database:
 *  (a) one plain transaction per event: lock, max + 1, insert, commit, on a pool of 32 connections;
 *  (b) pgbench's insert of the same row at 32 clients, prepared, as the floor, where pgbench is installed.
 * Variants are interleaved and every second repetition runs in reverse order.
 */
import { execFile } from "node:child_process"
import { writeFile } from "node:fs/promises"
import { join } from "node:path"
import { promisify } from "node:util"
import { Effect, Schema } from "effect"
import postgres from "postgres"
import { type BenchDatabase, withBenchDatabase } from "#bench/database.ts"
import { type BenchOptions, median, percentile, type Report, round } from "#bench/report.ts"
import { defineEvent } from "#core/event.ts"
import { EventLog, type EventLogShape } from "#core/event-log.ts"
import { Sql } from "#core/sql.ts"

const Delta = defineEvent("agent.message.delta", Schema.Struct({ delta: Schema.String, messageId: Schema.String }))
const delta = { delta: "a piece of text as a model streams it, ", messageId: "m-1" }

const runCount = 1_000
const writerCounts = [1, 8, 32, 256] as const
const pgbenchClients = 32
const classicConnections = 32

interface Measured {
  readonly perSecond: number
  readonly p99: number
}

/** `writers` fibers, as in the service, that append one event after another. */
const measure = (writers: number, milliseconds: number, append: Effect.Effect<unknown, unknown>) =>
  Effect.gen(function* () {
    const latencies: Array<number> = []
    const begin = performance.now()
    const writer = Effect.gen(function* () {
      for (;;) {
        const started = performance.now()
        if (started - begin > milliseconds) return
        yield* append
        latencies.push(performance.now() - started)
      }
    })
    yield* Effect.all(
      Array.from({ length: writers }, () => writer),
      { concurrency: "unbounded", discard: true },
    )
    const perSecond = latencies.length / ((performance.now() - begin) / 1_000)
    return { perSecond, p99: percentile(latencies, 0.99) } satisfies Measured
  })

const classicAppend = (pool: postgres.Sql, runIds: ReadonlyArray<string>) =>
  Effect.promise(() =>
    pool.begin(async (sql) => {
      const runId = anyOf(runIds)
      await sql`select pg_advisory_xact_lock(hashtextextended(${runId}, 7215))`
      const [row] = await sql`select coalesce(max(sequence), 0) + 1 as next from events where run_id = ${runId}`
      await sql`insert into events (run_id, sequence, type, payload, created_at)
      values (${runId}, ${row?.next}, ${Delta.type}, ${sql.json(delta)}, clock_timestamp())`
    }),
  )

/** Warm connections, closed again: the server has not enough for those of every variant at once. */
const withPool = async (database: BenchDatabase, use: (pool: postgres.Sql) => Promise<Measured>): Promise<Measured> => {
  const { socketFolder: host, port, user, name } = database
  const pool = postgres({ host, port, user, database: name, max: classicConnections, onnotice: () => {} })
  await Promise.all(Array.from({ length: classicConnections }, () => pool`select pg_sleep(0.05)`))
  try {
    return await use(pool)
  } finally {
    await pool.end()
  }
}

const createPlainTable = Effect.gen(function* () {
  const sql = yield* Sql
  yield* sql`create table plain_rows (
    id bigserial primary key, run_id text, type text, payload json, created_at timestamptz)`
})

const anyOf = <A>(list: ReadonlyArray<A>): A => {
  const one = list[Math.floor(Math.random() * list.length)]
  if (one === undefined) throw new Error("nothing to choose from")
  return one
}

const pgbench = async (database: BenchDatabase, seconds: number): Promise<Measured | undefined> => {
  const script = join(database.folder, "insert.sql")
  await writeFile(
    script,
    `insert into plain_rows (run_id, type, payload, created_at) values (md5(random()::text), '${Delta.type}', '${JSON.stringify(delta)}', clock_timestamp());\n`,
  )
  const options = ["-n", "-M", "prepared", "-c", String(pgbenchClients), "-j", "2", "-T", String(seconds), "-f", script]
  try {
    const { stdout } = await promisify(execFile)("pgbench", [
      ...options,
      "-h",
      database.socketFolder,
      "-p",
      String(database.port),
      "-U",
      database.user,
      database.name,
    ])
    const perSecond = Number(/tps = ([\d.]+)/.exec(stdout)?.[1])
    return { perSecond, p99: Number.NaN }
  } catch (cause) {
    if (cause instanceof Error && "code" in cause && cause.code === "ENOENT") return undefined
    throw cause
  }
}

const openRuns = (log: EventLogShape) =>
  Effect.forEach(
    Array.from({ length: runCount }, () => crypto.randomUUID()),
    (runId) => Effect.as(log.open(runId, [Delta.of(delta)]), runId),
    { concurrency: 8 },
  )

export const bench = ({ quick }: BenchOptions): Promise<Report> =>
  withBenchDatabase(async (database) => {
    const { run } = database
    const log = await run(EventLog)
    const runIds = await run(openRuns(log))
    await run(createPlainTable)

    const append = Effect.suspend(() => log.append(anyOf(runIds), [Delta.of(delta)]))
    const grouped = (writers: number, milliseconds: number) => run(measure(writers, milliseconds, append))
    const classic = (writers: number, milliseconds: number) =>
      withPool(database, (pool) => run(measure(writers, milliseconds, classicAppend(pool, runIds))))
    const window = quick ? 400 : 2_500
    const repetitions = quick ? 1 : 3

    await grouped(32, window / 2)
    await classic(32, window / 2)
    const results = new Map<string, Array<Measured>>()
    const note = (name: string, measured: Measured | undefined) => {
      if (measured !== undefined) results.set(name, [...(results.get(name) ?? []), measured])
    }
    for (let repetition = 0; repetition < repetitions; repetition++) {
      const steps = writerCounts.flatMap((writers) => [
        async () => note(`group ${writers}`, await grouped(writers, window)),
        async () => note(`classic ${writers}`, await classic(writers, window)),
      ])
      steps.push(async () => note("pgbench", await pgbench(database, Math.max(1, Math.round(window / 1_000)))))
      for (const step of repetition % 2 === 0 ? steps : steps.reverse()) await step()
    }

    const perSecond = (name: string) => median((results.get(name) ?? []).map((m) => m.perSecond))
    const p99 = (name: string) => median((results.get(name) ?? []).map((m) => m.p99))
    const floor = perSecond("pgbench")
    return {
      title: `Appending events (${runCount} runs, ${repetitions} × ${window} ms each, medians)`,
      columns: ["writers", "group commit /s", "p99 ms", "transaction each /s", "p99 ms", "times"],
      rows: writerCounts.map((writers) => [
        writers,
        Math.round(perSecond(`group ${writers}`)),
        round(p99(`group ${writers}`)),
        Math.round(perSecond(`classic ${writers}`)),
        round(p99(`classic ${writers}`)),
        round(perSecond(`group ${writers}`) / perSecond(`classic ${writers}`), 1),
      ]),
      notes: [
        Number.isNaN(floor)
          ? "pgbench is not installed: no floor."
          : `Floor: pgbench, single-row insert, ${pgbenchClients} clients: ${Math.round(floor)} /s.`,
      ],
      ratios: {
        vs_classic_32: round(perSecond("group 32") / perSecond("classic 32")),
        ...(Number.isNaN(floor) ? {} : { vs_pgbench_32: round(perSecond("group 32") / floor) }),
      },
      figures: {
        p99_ms_32: round(p99("group 32"), 3),
        ...Object.fromEntries(writerCounts.map((n) => [`per_second_${n}`, Math.round(perSecond(`group ${n}`))])),
      },
    }
  })
