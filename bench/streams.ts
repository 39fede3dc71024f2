/**
 * Live delivery, fan-out, replay and memory of streams, with the service in processes of its own:
 *  - time from commit to the subscriber's socket, on the replica that appended and on another one;
 *  - deliveries a second to 1,000 subscribers, beside a bare node:http server that writes the same frames;
 *  - replay of a long run through `/events` and through the stream;
 *  - memory of an idle subscriber.
 */
import { type ChildProcess, fork } from "node:child_process"
import { get } from "node:http"
import { join } from "node:path"
import { Effect } from "effect"
import { type BenchDatabase, withBenchDatabase } from "#bench/database.ts"
import { type BenchOptions, median, percentile, type Report, round } from "#bench/report.ts"
import type { Command, Commit } from "#bench/streams/replica.ts"
import { EventLog } from "#core/event-log.ts"

const key = "bench-key-0123456789"

interface Child {
  readonly port: number
  readonly ask: <A>(command: object) => Promise<A>
  readonly process: ChildProcess
}

const start = (file: string, ...args: ReadonlyArray<string>): Promise<Child> =>
  new Promise((resolve, reject) => {
    const child = fork(join(import.meta.dirname, "streams", file), [...args], { execArgv: ["--expose-gc"] })
    child.once("error", reject)
    child.once("message", (hello: { port: number }) => {
      const ask = <A>(command: object) =>
        new Promise<A>((answered) => {
          child.once("message", (message: { answer: A }) => answered(message.answer))
          child.send(command)
        })
      resolve({ port: hello.port, ask, process: child })
    })
  })

const order = <A>(replica: Child, command: Command) => replica.ask<A>(command)

const streamPath = (runId: string) => `/api/runs/${runId}/stream`

interface Latency {
  readonly p50: number
  readonly p99: number
}

/** Appends on `writer`, listens on `server`. */
const latency = async (
  [writer, server, clients]: readonly [Child, Child, Child],
  subscribers: number,
  perSecond: number,
  count: number,
): Promise<Latency> => {
  const runId = await order<string>(writer, { do: "create" })
  await clients.ask({ do: "subscribe", port: server.port, path: streamPath(runId), key, count: subscribers })
  const collecting = clients.ask<Array<Array<[number, number]>>>({ do: "collect", last: count + 1 })
  const commits = await order<Array<Commit>>(writer, { do: "pace", runId, perSecond, count })
  const committed = new Map(commits.map(({ sequence, at }) => [sequence, at]))
  const samples: Array<number> = []
  for (const arrived of await collecting) {
    for (const [sequence, at] of arrived) {
      const commit = committed.get(sequence)
      if (commit !== undefined) samples.push(at - commit)
    }
  }
  await clients.ask({ do: "close" })
  return { p50: percentile(samples, 0.5), p99: percentile(samples, 0.99) }
}

const fanOut = async (
  server: Child,
  clients: Child,
  path: string,
  first: number,
  count: number,
  flood: () => Promise<unknown>,
) => {
  const subscribers = 1_000
  await clients.ask({ do: "subscribe", port: server.port, path, key, count: subscribers })
  const collecting = clients.ask({ do: "collect", last: first + count - 1 })
  const begin = performance.now()
  await flood()
  await collecting
  const perSecond = (subscribers * count) / ((performance.now() - begin) / 1_000)
  await clients.ask({ do: "close" })
  return perSecond
}

/** Events a second from the first byte asked for to the last one needed. */
const replay = (port: number, path: string, count: number, isLast: (text: string) => boolean): Promise<number> =>
  new Promise((resolve, reject) => {
    const begin = performance.now()
    const request = get({ port, path, headers: { authorization: `Bearer ${key}` } }, (response) => {
      let tail = ""
      response.setEncoding("latin1")
      response.on("data", (chunk: string) => {
        tail = (tail + chunk).slice(-2_000)
        if (!isLast(tail)) return
        resolve(count / ((performance.now() - begin) / 1_000))
        request.destroy()
      })
    })
    request.on("error", reject)
  })

/** Kilobytes of resident memory, on a replica that has done nothing else. */
const idleMemory = async (replica: Child, clients: Child, count: number): Promise<number> => {
  const runId = await order<string>(replica, { do: "create" })
  const listen = (subscribers: number) =>
    clients.ask({ do: "subscribe", port: replica.port, path: streamPath(runId), key, count: subscribers })
  await listen(100)
  const before = await order<number>(replica, { do: "memory" })
  await listen(count)
  const after = await order<number>(replica, { do: "memory" })
  replica.process.kill("SIGKILL")
  return (after - before) / count / 1_024
}

export const bench = ({ quick }: BenchOptions): Promise<Report> =>
  withBenchDatabase(async (database) => {
    const { socketFolder: host, port, user, name } = database
    const address = JSON.stringify({ host, port, user, database: name })
    const startFresh = () => start("replica.ts", address, key)
    const here = await start("replica.ts", address, key)
    const there = await start("replica.ts", address, key)
    const clients = await start("subscribers.ts")
    const bare = await start("bare.ts")
    try {
      return await measure({ database, here, there, clients, bare, startFresh }, quick)
    } finally {
      for (const child of [here, there, clients, bare]) child.process.kill("SIGKILL")
    }
  })

interface World {
  readonly database: BenchDatabase
  readonly here: Child
  readonly there: Child
  readonly clients: Child
  readonly bare: Child
  readonly startFresh: () => Promise<Child>
}

const measure = async (
  { database, here, there, clients, bare, startFresh }: World,
  quick: boolean,
): Promise<Report> => {
  const repetitions = quick ? 1 : 3
  const seconds = quick ? 1 : 4
  await latency([here, there, clients], 10, 500, 500)

  const loads = [
    { subscribers: 1, perSecond: 1_000 },
    { subscribers: 100, perSecond: 1_000 },
    { subscribers: 1_000, perSecond: 40 },
  ]
  const rows: Array<ReadonlyArray<string | number>> = []
  const figures: Record<string, number> = {}
  for (const { subscribers, perSecond } of loads) {
    const same: Array<Latency> = []
    const other: Array<Latency> = []
    // unrecorded: the first second of a process is the compiler's
    for (const server of [here, there]) await latency([here, server, clients], subscribers, perSecond, perSecond)
    for (let i = 0; i < repetitions; i++) {
      const both = [
        async () => same.push(await latency([here, here, clients], subscribers, perSecond, perSecond * seconds)),
        async () => other.push(await latency([here, there, clients], subscribers, perSecond, perSecond * seconds)),
      ]
      for (const one of i % 2 === 0 ? both : both.reverse()) await one()
    }
    for (const [where, results] of [
      ["same", same],
      ["other", other],
    ] as const) {
      const p50 = median(results.map((r) => r.p50))
      const p99 = median(results.map((r) => r.p99))
      rows.push([
        `commit to socket, ${subscribers} subscribers, ${perSecond} events/s, ${where} replica`,
        `${round(p50)} ms`,
        `${round(p99)} ms`,
      ])
      figures[`p99_ms_${subscribers}_${where}`] = round(p99)
    }
  }

  const floods = quick ? 100 : 400
  const ours: Array<number> = []
  const floor: Array<number> = []
  for (let i = 0; i < repetitions; i++) {
    const both = [
      async () => {
        const runId = await order<string>(here, { do: "create" })
        ours.push(
          await fanOut(here, clients, streamPath(runId), 2, floods, () =>
            order(here, { do: "flood", runId, count: floods, atOnce: 1 }),
          ),
        )
      },
      async () => floor.push(await fanOut(bare, clients, "/", 1, floods, () => bare.ask({ count: floods }))),
    ]
    for (const one of i % 2 === 0 ? both : both.reverse()) await one()
  }
  rows.push(["deliveries/s to 1,000 subscribers", Math.round(median(ours)), `bare ${Math.round(median(floor))}`])

  const long = quick ? 10_000 : 100_000
  const longRun = await order<string>(here, { do: "create" })
  await order(here, { do: "flood", runId: longRun, count: long - 1, atOnce: 500 })
  await database.run(Effect.flatMap(EventLog, (log) => log.read(longRun, { limit: 1 })))
  const events = await replay(here.port, `/api/runs/${longRun}/events`, long, (text) => text.endsWith("]"))
  const stream = await replay(here.port, streamPath(longRun), long, (text) => text.includes(`id: ${long}\n`))
  rows.push([`replay of ${long} events through /events, events/s`, Math.round(events), ""])
  rows.push([`replay of ${long} events through the stream, events/s`, Math.round(stream), ""])

  const idle = quick ? 500 : 2_000
  const perSubscriber = await idleMemory(await startFresh(), clients, idle)
  rows.push([`memory of an idle subscriber (${idle})`, `${round(perSubscriber, 1)} KB`, ""])

  return {
    title: `Streams (${repetitions} × ${seconds} s each, medians)`,
    columns: ["what", "p50, or value", "p99, or floor"],
    rows,
    ratios: { fanout_vs_bare: round(median(ours) / median(floor)) },
    figures: {
      ...figures,
      fanout_per_second: Math.round(median(ours)),
      replay_events_per_second: Math.round(events),
      replay_stream_per_second: Math.round(stream),
      idle_subscriber_kb: round(perSubscriber, 1),
    },
  }
}
