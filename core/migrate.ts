/**
 * Brings the tables of each owner (the core, every plugin) to what this version of the service expects:
 * numbered SQL files, each applied once, in order, in a transaction of its own, by whichever replica
 * comes first while the others wait.
 *
 * Forward only. An applied file that was edited since, and a database that a newer version has already
 * changed, are refused: the service must not start on tables it does not know.
 */
import { createHash } from "node:crypto"
import { readdir, readFile } from "node:fs/promises"
import { join } from "node:path"
import { Cause, Duration, Effect, Schema } from "effect"
import { type DatabaseUnavailable, Sql, type SqlShape, StatementDeadline, StatementRefused } from "#core/sql.ts"

/** One numbered file. */
export interface Migration {
  readonly id: number
  readonly name: string
  readonly sql: string
}

/** The migrations of one owner, from its folder or as they are. */
export type Migrations = { readonly owner: string } & (
  | { readonly directory: string }
  | { readonly steps: ReadonlyArray<Migration> }
)

export interface AppliedMigration {
  readonly owner: string
  readonly id: number
  readonly name: string
}

export class MigrationRefused extends Schema.TaggedError<MigrationRefused>()("MigrationRefused", {
  /** `invalid`: the files themselves; `edited`, `unknown`: they do not fit the database; `failed`: the SQL was refused. */
  reason: Schema.Literals(["invalid", "edited", "unknown", "failed"]),
  message: Schema.String,
}) {}

/** A migration may rewrite a large table, and replicas wait for the one that does. */
const migrationDeadline = Duration.minutes(10)
/** Any number, the same in every version: names the lock. */
const lockKey = 7_215_001
const fileName = /^(\d{4})-([a-z0-9][a-z0-9-]*)\.sql$/

/** Applies what is pending and says what that was. */
export const migrate = Effect.fn("migrate")(function* (
  all: ReadonlyArray<Migrations>,
): Effect.fn.Return<ReadonlyArray<AppliedMigration>, MigrationRefused | DatabaseUnavailable, Sql> {
  const sql = yield* Sql
  const owners = yield* Effect.forEach(all, load)
  const applied: Array<AppliedMigration> = []
  while (true) {
    const step = yield* sql
      .transaction(applyNext(sql, owners))
      .pipe(Effect.provideService(StatementDeadline, migrationDeadline))
    if (step === undefined) return applied
    applied.push(step)
  }
})

interface Loaded extends Migration {
  readonly checksum: string
}

interface Owner {
  readonly owner: string
  readonly steps: ReadonlyArray<Loaded>
}

interface Row {
  readonly owner: string
  readonly id: number
  readonly name: string
  readonly checksum: string
}

/** Under the lock: compares the database with the files and applies the first one that is missing. */
const applyNext = Effect.fnUntraced(function* (sql: SqlShape, owners: ReadonlyArray<Owner>) {
  yield* sql.script("set local statement_timeout = 0; set local lock_timeout = 0")
  yield* sql`select pg_advisory_xact_lock(${lockKey})`
  yield* sql.script(`create table if not exists svc_migrations (
    owner text not null,
    id integer not null,
    name text not null,
    checksum text not null,
    applied_at timestamptz not null default now(),
    primary key (owner, id)
  )`)
  const names = owners.map(({ owner }) => owner)
  const rows = yield* sql<Row>`
    select owner, id, name, checksum from svc_migrations where owner = any(${names}) order by owner, id`
  yield* compare(owners, rows)
  const known = new Set(rows.map(({ owner, id }) => `${owner}/${id}`))
  for (const { owner, steps } of owners) {
    const next = steps.find(({ id }) => !known.has(`${owner}/${id}`))
    if (next === undefined) continue
    yield* apply(sql, owner, next)
    return { owner, id: next.id, name: next.name }
  }
  return undefined
})

const apply = Effect.fnUntraced(function* (sql: SqlShape, owner: string, { id, name, sql: text, checksum }: Loaded) {
  yield* sql
    .script(text)
    .pipe(
      Effect.catchDefect((defect) =>
        defect instanceof StatementRefused
          ? refuse("failed", `Migration ${label(owner, id, name)} failed: ${defect.message}`)
          : Effect.failCause(Cause.die(defect)),
      ),
    )
  yield* sql`insert into svc_migrations (owner, id, name, checksum) values (${owner}, ${id}, ${name}, ${checksum})`
})

const compare = (owners: ReadonlyArray<Owner>, rows: ReadonlyArray<Row>): Effect.Effect<void, MigrationRefused> => {
  const files = new Map(
    owners.flatMap(({ owner, steps }) => steps.map((step) => [`${owner}/${step.id}`, step] as const)),
  )
  const unknown = rows.filter(({ owner, id }) => !files.has(`${owner}/${id}`))
  if (unknown.length > 0) {
    const list = unknown.map(({ owner, id, name }) => label(owner, id, name)).join(", ")
    return refuse(
      "unknown",
      `The database was changed by a newer version of the service, which applied ${list}. Start that version, or restore an older database.`,
    )
  }
  const edited = rows.filter(({ owner, id, checksum }) => files.get(`${owner}/${id}`)?.checksum !== checksum)
  if (edited.length > 0) {
    const list = edited.map(({ owner, id, name }) => label(owner, id, name)).join(", ")
    return refuse(
      "edited",
      `These migrations were edited after they had been applied: ${list}. Restore them, and put the change into a new one.`,
    )
  }
  return Effect.void
}

const load = Effect.fnUntraced(function* (migrations: Migrations): Effect.fn.Return<Owner, MigrationRefused> {
  const { owner } = migrations
  const steps = "steps" in migrations ? migrations.steps : yield* readFolder(owner, migrations.directory)
  const ordered = steps.toSorted((a, b) => a.id - b.id)
  const twice = ordered.find((step, i) => step.id === ordered[i - 1]?.id)
  if (twice !== undefined) {
    return yield* refuse("invalid", `Two migrations of ${owner} have the number ${twice.id}.`)
  }
  return { owner, steps: ordered.map((step) => ({ ...step, checksum: checksumOf(step.sql) })) }
})

const readFolder = Effect.fnUntraced(function* (owner: string, directory: string) {
  const invalid = (error: unknown) =>
    new MigrationRefused({ reason: "invalid", message: `The migrations of ${owner} cannot be read: ${String(error)}` })
  const names = yield* Effect.tryPromise({ try: () => readdir(directory), catch: invalid })
  return yield* Effect.forEach(
    names.filter((name) => name.endsWith(".sql")),
    Effect.fnUntraced(function* (file) {
      const [, id, name] = fileName.exec(file) ?? []
      if (id === undefined || name === undefined) {
        return yield* refuse("invalid", `The migration ${file} of ${owner} is not named like 0001-what-it-does.sql.`)
      }
      const sql = yield* Effect.tryPromise({ try: () => readFile(join(directory, file), "utf8"), catch: invalid })
      return { id: Number(id), name, sql }
    }),
  )
})

const refuse = (reason: MigrationRefused["reason"], message: string) =>
  Effect.fail(new MigrationRefused({ reason, message }))

const label = (owner: string, id: number, name: string): string => `${owner}/${String(id).padStart(4, "0")}-${name}`

/** The same for a checkout with either kind of line ends. */
const checksumOf = (sql: string): string => createHash("sha256").update(sql.replaceAll("\r\n", "\n")).digest("hex")
