/**
 * Who uses a database folder: one service at a time. The claim of a service that was killed is taken
 * over; that of a living one, also on another machine or in another container, is respected.
 */
import { randomUUID } from "node:crypto"
import { link, mkdir, readFile, rename, rm, stat, utimes, writeFile } from "node:fs/promises"
import { hostname } from "node:os"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { Duration, Effect, Schema, type Scope } from "effect"
import { DatabaseNotStarted } from "#runtime/database/not-started.ts"
import { isAlive, startOf } from "#runtime/database/processes.ts"

const Owner = Schema.Struct({
  id: Schema.String,
  pid: Schema.Finite,
  host: Schema.String,
  startedAt: Schema.optionalKey(Schema.String),
})
type Owner = typeof Owner.Type
const decodeOwner = Schema.decodeUnknownEffect(Schema.fromJsonString(Owner))

/** The owner shows so often that it lives; a claim from another machine that is older than three of these is void. */
const beat = Duration.seconds(5)
const voidAfter = Duration.seconds(15)
/** Two services that take over at the same moment: the one whose claim was overwritten by then gives way. */
const contestMillis = 30

/** Claims the folder until the scope closes. Made where it is not there. */
export const claim = Effect.fnUntraced(function* (
  folder: string,
): Effect.fn.Return<void, DatabaseNotStarted, Scope.Scope> {
  const file = join(folder, "owner.json")
  const mine = yield* attempt(async (): Promise<Owner> => {
    const startedAt = await startOf(process.pid)
    return { id: randomUUID(), pid: process.pid, host: hostname(), ...(startedAt === undefined ? {} : { startedAt }) }
  })
  yield* Effect.acquireRelease(
    Effect.gen(function* () {
      yield* attempt(() => mkdir(folder, { recursive: true, mode: 0o700 }))
      const first = yield* attempt(() => write(file, mine, false))
      if (first) return
      const other = yield* readOwner(file)
      if (other !== undefined && (yield* attempt(() => lives(file, other)))) return yield* inUse(folder, other)
      yield* attempt(() => write(file, mine, true))
      yield* attempt(() => sleep(contestMillis))
      const winner = yield* readOwner(file)
      if (winner?.id !== mine.id) return yield* inUse(folder, winner)
    }),
    () => attempt(() => rm(file, { force: true })).pipe(Effect.ignore),
  )
  yield* attempt(() => utimes(file, new Date(), new Date())).pipe(
    Effect.ignore,
    Effect.andThen(Effect.sleep(beat)),
    Effect.forever,
    Effect.forkScoped,
  )
})

const inUse = (folder: string, owner: Owner | undefined) =>
  Effect.fail(
    new DatabaseNotStarted({
      message: `The data in ${folder} is in use by another service${owner === undefined ? "" : ` (process ${owner.pid} on ${owner.host})`}. Stop that one, give this one another folder (Data:Directory, SVC_DATA_DIR), or let both share a server (DATABASE_URL).`,
    }),
  )

/** Writes the claim in one step; without `over` only where there is none. */
const write = async (file: string, owner: Owner, over: boolean): Promise<boolean> => {
  const draft = `${file}.${owner.id}`
  await writeFile(draft, JSON.stringify(owner), { mode: 0o600 })
  try {
    if (over) await rename(draft, file)
    else await link(draft, file)
    return true
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "EEXIST") return false
    throw error
  } finally {
    await rm(draft, { force: true })
  }
}

/** Undefined for a claim that says nothing. */
const readOwner = (file: string): Effect.Effect<Owner | undefined, DatabaseNotStarted> =>
  attempt(() => readFile(file, "utf8").catch(() => "")).pipe(
    Effect.flatMap((text) => Effect.orElseSucceed(decodeOwner(text), () => undefined)),
  )

const lives = async (file: string, owner: Owner): Promise<boolean> => {
  if (owner.host === hostname()) {
    return isAlive(owner.pid) && (owner.startedAt === undefined || (await startOf(owner.pid)) === owner.startedAt)
  }
  const age = Date.now() - (await stat(file)).mtimeMs
  return age < Duration.toMillis(voidAfter)
}

const attempt = <A>(run: () => Promise<A>): Effect.Effect<A, DatabaseNotStarted> =>
  Effect.tryPromise({
    try: run,
    catch: (error) => new DatabaseNotStarted({ message: `The data folder cannot be used: ${String(error)}` }),
  })
