/**
 * What the service adds to a turn of a model that answers at once, and to a call of a tool, beside in the same run
 *  (a) the engine alone: the same turns in a world that keeps everything in memory;
 *  (b) the same requests sent to the same server by `fetch`, and read to the end;
 *  (c) one commit of one event, and one command in the sandbox, by themselves.
 * A turn is one answer of the model without its calls. The model, the service and the client share one process.
 */
import { Effect, Stream } from "effect"
import { withBenchDatabase } from "#bench/database.ts"
import { type BenchOptions, median, type Report, round } from "#bench/report.ts"
import { type Replica, startBenchReplica } from "#bench/turn/replica.ts"
import { partsAt, type Shape, shapesOf } from "#bench/turn/shape.ts"
import { runTurn } from "#sandbox-agent/turn/turn.ts"
import { emptyStore, makeWorld, request } from "#test/fakes/turn-world.ts"

/** Milliseconds of the engine alone. */
const engine = Effect.fnUntraced(function* (shape: Shape, workingDirectory: string) {
  const { world } = makeWorld(emptyStore(), { model: () => [] })
  const begin = performance.now()
  const outcome = yield* runTurn(
    request({ workingDirectory, task: shape.name, bounds: { maxSteps: 10_000, maxMinutes: 60 } }),
    {
      ...world,
      model: ({ labels }) => Stream.fromIterable(partsAt(shape, labels.step)),
    },
  )
  if (outcome._tag !== "Finished") throw new Error(`the engine ended with ${outcome._tag}`)
  return performance.now() - begin
})

/** Milliseconds of the requests alone. */
const exchanges = (url: string, bodies: ReadonlyArray<unknown>) =>
  Effect.promise(async () => {
    const begin = performance.now()
    for (const body of bodies) {
      const sent = { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) }
      await (await fetch(`${url}/chat/completions`, sent)).text()
    }
    return performance.now() - begin
  })

type Shapes = ReturnType<typeof shapesOf>

interface Cost {
  /** Milliseconds of an answer of the model, without its calls. */
  readonly turn: number
  readonly call: number
}

/** From the same turns with one and with five calls each. */
const costOf = (one: number, five: number, turns: number): Cost => {
  const call = (five - one) / (turns * 4)
  return { turn: one / turns - call, call }
}

const measure = Effect.fnUntraced(function* (replica: Replica, { one, five, command }: Shapes) {
  const { turns } = one
  const served = Effect.fnUntraced(function* (source: "hosted" | "scripted") {
    const [single, many] = [yield* replica.work(one, source), yield* replica.work(five, source)]
    const { turn, call } = costOf(single.transactions, many.transactions, turns)
    return { cost: costOf(single.milliseconds, many.milliseconds, turns), commits: { turn, call } }
  })
  const from = replica.model.requests.length
  const hosted = yield* served("hosted")
  // of the first run, then of the second one
  const bodies = replica.model.requests.slice(from).map(({ body }) => body)
  const scripted = yield* served("scripted")
  const alone = costOf(yield* engine(one, replica.repository), yield* engine(five, replica.repository), turns)
  const { url } = replica.model
  const exchange = costOf(
    yield* exchanges(url, bodies.slice(0, turns + 1)),
    yield* exchanges(url, bodies.slice(turns + 1)),
    turns,
  )
  const commands = yield* replica.work(command, "scripted")
  return {
    hosted: hosted.cost,
    scripted: scripted.cost,
    commits: scripted.commits,
    alone,
    exchange,
    commit: yield* replica.commit(200),
    command: commands.milliseconds / command.turns - scripted.cost.turn,
    sandbox: yield* replica.command(command.turns),
  }
})

type Measured = Effect.Success<ReturnType<typeof measure>>

export const bench = ({ quick }: BenchOptions): Promise<Report> =>
  withBenchDatabase((database) => {
    const shapes = shapesOf(quick)
    const life = Effect.gen(function* () {
      const replica = yield* startBenchReplica(database, Object.values(shapes))
      // the first one opens connections, compiles and probes the sandbox
      yield* replica.work(shapes.command, "scripted")
      yield* replica.work(shapes.one, "hosted")
      const repetitions = yield* Effect.forEach(Array.from({ length: quick ? 1 : 3 }), () => measure(replica, shapes))
      return reportOf(shapes.one.turns, (of) => median(repetitions.map(of)))
    })
    return Effect.runPromise(Effect.scoped(life))
  })

const reportOf = (turns: number, middle: (of: (measured: Measured) => number) => number): Report => {
  const hosted = { turn: middle(({ hosted: { turn } }) => turn), call: middle(({ hosted: { call } }) => call) }
  const scripted = { turn: middle(({ scripted: { turn } }) => turn), call: middle(({ scripted: { call } }) => call) }
  const alone = { turn: middle((one) => one.alone.turn), call: middle((one) => one.alone.call) }
  const commits = { turn: middle((one) => one.commits.turn), call: middle((one) => one.commits.call) }
  const exchange = { turn: middle((one) => one.exchange.turn), call: middle((one) => one.exchange.call) }
  const commit = middle((one) => one.commit)
  const [command, sandbox] = [middle((one) => one.command), middle((one) => one.sandbox)]
  return {
    title: `A turn of a model that answers at once, and a call of read_file (${turns} turns, medians)`,
    columns: ["ms", "a turn", "a call", "a command"],
    rows: [
      ["svc, model over HTTP", round(hosted.turn), round(hosted.call), ""],
      ["svc, model in process", round(scripted.turn), round(scripted.call), round(command)],
      ["engine alone", round(alone.turn, 3), round(alone.call, 3), ""],
      ["HTTP exchange alone", round(exchange.turn), round(exchange.call), ""],
      ["sandbox alone", "", "", round(sandbox)],
    ],
    notes: [
      `Transactions and savepoints that write: ${round(commits.turn, 1)} a turn, ${round(commits.call, 1)} a call; one commit alone takes ${round(commit)} ms.`,
    ],
    ratios: {
      turn_vs_commits: round(scripted.turn / (commits.turn * commit)),
      call_vs_commits: round(scripted.call / (commits.call * commit)),
      turn_vs_http_and_engine: round(hosted.turn / (exchange.turn + alone.turn)),
      command_vs_sandbox: round(command / sandbox),
    },
    figures: {
      ms_per_turn: round(hosted.turn),
      ms_per_tool_call: round(hosted.call),
      ms_per_turn_in_process: round(scripted.turn),
      ms_per_tool_call_in_process: round(scripted.call),
      ms_per_command: round(command),
      engine_ms_per_turn: round(alone.turn, 3),
      engine_ms_per_tool_call: round(alone.call, 3),
      http_ms_per_turn: round(exchange.turn),
      http_ms_per_tool_call: round(exchange.call),
      commit_ms: round(commit),
      sandbox_ms: round(sandbox),
      commits_per_turn: round(commits.turn, 1),
      commits_per_tool_call: round(commits.call, 1),
    },
  }
}
