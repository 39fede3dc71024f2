/**
 * Tag search and the context of a turn over 100,000 memories of one project, beside a plain query of the very same rows
 * by their keys, in the same run and on the same database. The variants take turns; medians are compared.
 */
import { resolve } from "node:path"
import { Effect } from "effect"
import postgres from "postgres"
import { type BenchDatabase, withBenchDatabase } from "#bench/database.ts"
import { type BenchOptions, median, percentile, type Report, round } from "#bench/report.ts"
import { migrate } from "#core/migrate.ts"
import { Sql } from "#core/sql.ts"
import { makeCandidates } from "#plugins/memory/context/candidates.ts"
import { sectionText } from "#plugins/memory/context/envelope.ts"
import { select } from "#plugins/memory/context/select.ts"
import { makeEntryStore } from "#plugins/memory/entry-store.ts"

const rows = 100_000
const agents = 20
const projectId = "00000000-0000-4000-8000-000000000001"
const runId = "00000000-0000-4000-8000-000000000002"
const agentName = "Agent 3"
/** As the settings are by default. */
const budget = { maxItems: 20, maxTokens: 4_000 }
const page = { limit: 50, offset: 0 }
/** What both must stay under, in milliseconds. */
const limit = 20

const migrations = resolve(import.meta.dirname, "../plugins/memory/migrations")

/** Every 500th has the rare tag, every third the common one; a tenth is important and approved, half of it for all. */
const fill = Effect.gen(function* () {
  const sql = yield* Sql
  yield* migrate([{ owner: "memory", directory: migrations }])
  yield* sql`
    insert into projects (project_id, name, origin, working_directory, default_branch, owner, default_provider)
    values (${projectId}, 'bench', 'blank', '/', 'main', 'ada', 'hosted')`
  const batch = 10_000
  for (let from = 0; from < rows; from += batch) {
    yield* sql`
      insert into memory_entries (project_id, agent_name, type, importance, content, tags, source_kind, source_identity,
        trust_state, approved_by, approved_at, trust, created_at)
      select ${projectId}, 'Agent ' || n % ${agents}, (array['learning', 'pattern', 'update', 'core_context'])[1 + n / 7 % 4],
             case when n % 10 = 0 then 3 else 1 + n % 2 end, 'What was learned in step ' || n || ': ' || repeat('words ', 30),
             array['topic-' || n % 97] || case when n % 500 = 0 then array['rare'] else '{}' end
               || case when n % 3 = 0 then array['common'] else '{}' end
               || case when n % 20 = 0 then array['cross-team'] else '{}' end,
             'agent', 'run:bench', case when n % 10 = 0 then 'approved' else 'pending' end,
             case when n % 10 = 0 then 'ada' end, case when n % 10 = 0 then now() end,
             case when n % 10 = 0 then 2 else 1 end, now() - n * interval '1 minute'
        from generate_series(${from}::int, ${from + batch - 1}::int) n`
  }
  for (let n = 0; n < 20; n++) {
    yield* sql`
      insert into memory_decisions (project_id, agent_name, type, title, content, source_kind, source_identity,
        trust_state, approved_by, approved_at)
      values (${projectId}, 'ada', 'scope', ${`Decision ${n}`}, ${"It is so. ".repeat(10)}, 'user', 'ada', 'approved', 'ada', now())`
  }
  yield* sql`vacuum analyze memory_entries`
})

interface Timed {
  readonly ours: Array<number>
  readonly plain: Array<number>
}

const timed = async (into: Array<number>, work: () => Promise<unknown>): Promise<void> => {
  const started = performance.now()
  await work()
  into.push(performance.now() - started)
}

const compare = async (times: number, ours: () => Promise<unknown>, plain: () => Promise<unknown>): Promise<Timed> => {
  const result: Timed = { ours: [], plain: [] }
  for (let n = 0; n < 10; n++) {
    await ours()
    await plain()
  }
  for (let n = 0; n < times; n++) {
    const order = [() => timed(result.ours, ours), () => timed(result.plain, plain)]
    for (const each of n % 2 === 0 ? order : order.toReversed()) await each()
  }
  return result
}

const measure = async (database: BenchDatabase, quick: boolean) => {
  const { socketFolder: host, port, user, name } = database
  const pool = postgres({ host, port, user, database: name, max: 1, onnotice: () => {} })
  const times = quick ? 30 : 500
  await database.run(fill)
  const { run } = database

  const search = async (tags: ReadonlyArray<string>) => {
    const ours = () =>
      run(Effect.flatMap(Sql, (sql) => makeEntryStore(sql).list(projectId, { tags, type: "learning" }, page)))
    const ids = (await ours()).map(({ id }) => id)
    if (ids.length !== page.limit) throw new Error(`a search for ${tags} found ${ids.length} rows`)
    const plain = () => pool`select * from memory_entries where entry_id = any(${ids}) order by created_at desc`
    return compare(times, ours, async () => plain())
  }

  const compile = async () => {
    const ours = () =>
      run(
        Effect.gen(function* () {
          const selection = select(yield* makeCandidates(yield* Sql)({ runId, projectId, agentName }, budget), budget)
          if (selection._tag === "OverBudget") return yield* Effect.die("the bench's decisions are over the budget")
          return { ...selection, text: sectionText(selection.envelope) }
        }),
      )
    const { envelope, omittedMemoryCount } = await ours()
    if (envelope.memories.length === 0 || omittedMemoryCount === 0) throw new Error("nothing was chosen or left out")
    const decisions = envelope.decisions.map(({ id }) => id)
    const memories = envelope.memories.map(({ id }) => id)
    const plain = async () => {
      await pool`select * from memory_decisions where decision_id = any(${decisions}) order by decision_id`
      await pool`select * from memory_entries where entry_id = any(${memories}) order by created_at desc`
    }
    return compare(times, ours, plain)
  }

  try {
    return { rare: await search(["rare"]), common: await search(["common", "topic-5"]), context: await compile() }
  } finally {
    await pool.end()
  }
}

export const bench = async ({ quick }: BenchOptions): Promise<Report> => {
  const measured = await withBenchDatabase((database) => measure(database, quick))
  const lines = Object.entries({
    "tag search, rare tag": measured.rare,
    "tag search, common tags": measured.common,
    "context of a turn": measured.context,
  }).map(([what, { ours, plain }]) => ({
    what,
    ours: median(ours),
    p99: percentile([...ours], 0.99),
    plain: median(plain),
  }))
  const key = (what: string) => what.replaceAll(/[^a-z]+/g, "_")
  return {
    title: `Memory: ${rows.toLocaleString("en")} rows of one project, ${agents} agents`,
    columns: ["", "median ms", "p99 ms", "plain ms", "ratio"],
    rows: lines.map(({ what, ours, p99, plain }) => [what, round(ours), round(p99), round(plain), round(ours / plain)]),
    notes: [
      `Plain: the same rows by their keys, by postgres.js. ${lines.every(({ ours }) => ours < limit) ? "All" : "NOT all"} medians are under ${limit} ms.`,
    ],
    ratios: Object.fromEntries(lines.map(({ what, ours, plain }) => [`${key(what)}_to_plain`, round(ours / plain)])),
    figures: Object.fromEntries(
      lines.flatMap(({ what, ours, p99 }) => [
        [`${key(what)}_median_ms`, round(ours)],
        [`${key(what)}_p99_ms`, round(p99)],
      ]),
    ),
  }
}
