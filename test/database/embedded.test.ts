import { spawn } from "node:child_process"
import { mkdir, readFile, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { createInterface } from "node:readline"
import { expect, layer } from "@effect/vitest"
import { Effect, Exit, Layer, Redacted } from "effect"
import { type Server, Sql } from "#core/sql.ts"
import { openCluster, serverOf } from "#runtime/database/cluster.ts"
import { startPostmaster, stopPostmaster } from "#runtime/database/postmaster.ts"
import { isAlive } from "#runtime/database/processes.ts"
import { firstThatRuns, installedPrograms } from "#runtime/database/programs.ts"
import { postmasterOf, serverProcesses, signalAll, startServer, temporaryFolder } from "#test/support/private-server.ts"

const installed = await installedPrograms()

const withSql = <A, E>(server: Server, effect: Effect.Effect<A, E, Sql>) =>
  Effect.provide(effect, Layer.fresh(Sql.layer({ server, poolSize: 3 })))

const usingServer = <A, E>(folder: string, effect: Effect.Effect<A, E, Sql>) =>
  Effect.scoped(Effect.flatMap(startServer(folder), (server) => withSql(server, effect)))

const untilItWorks = <A, E>(effect: Effect.Effect<A, E>) =>
  effect.pipe(
    Effect.tapError(() => Effect.sleep("20 millis")),
    Effect.retry({ times: 500 }),
  )

const insert = Effect.gen(function* () {
  const sql = yield* Sql
  yield* sql.script("create table if not exists kept (n serial primary key)")
  yield* sql`insert into kept default values`
})

const count = Effect.gen(function* () {
  const sql = yield* Sql
  const [row] = yield* sql<{ n: number }>`select count(*) as n from kept`
  return row?.n
})

/** Starts the program beside this file and gives the lines that it writes, up to a number of them. */
const serviceUntil = (folder: string, lines: number) =>
  Effect.promise(async () => {
    const program = join(import.meta.dirname, "embedded-service.ts")
    const child = spawn(process.execPath, [program, folder], { stdio: ["ignore", "pipe", "inherit"] })
    const written: Array<number> = []
    for await (const line of createInterface(child.stdout)) {
      written.push(Number(line))
      if (written.length === lines) child.kill("SIGKILL")
    }
    return written
  })

layer(Layer.empty, { excludeTestServices: true, timeout: "30 seconds" })("the embedded database", (it) => {
  it.effect("is created at the first start, and keeps what was written for the next ones", () =>
    Effect.gen(function* () {
      const folder = yield* temporaryFolder
      for (const times of [1, 2, 3]) {
        yield* usingServer(folder, insert)
        expect(yield* serverProcesses(folder)).toEqual([])
        expect(yield* usingServer(folder, count)).toBe(times)
      }
    }).pipe(Effect.scoped),
  )

  it.effect("starts again by itself when its server is killed, with all that was acknowledged", () =>
    Effect.gen(function* () {
      const folder = yield* temporaryFolder
      yield* usingServer(
        folder,
        Effect.gen(function* () {
          const sql = yield* Sql
          for (const times of [1, 2, 3]) {
            yield* insert
            const busy = yield* Effect.forkChild(Effect.exit(sql`select pg_sleep(60)`))
            yield* Effect.sleep("20 millis")
            yield* signalAll([yield* postmasterOf(folder)], "SIGKILL")
            expect(yield* untilItWorks(Effect.provideService(count, Sql, sql))).toBe(times)
            busy.interruptUnsafe()
          }
        }),
      )
    }).pipe(Effect.scoped),
  )

  it.effect("keeps every acknowledged row when the service is killed, and ends the server that outlived it", () =>
    Effect.gen(function* () {
      const folder = yield* temporaryFolder
      const acknowledged: Array<number> = []
      for (const lines of [1, 20, 50]) {
        acknowledged.push(...(yield* serviceUntil(folder, lines)))
        const outlived = yield* postmasterOf(folder)
        expect(isAlive(outlived)).toBe(true)
        const rows = yield* usingServer(
          folder,
          Effect.flatMap(Sql, (sql) => sql<{ n: number }>`select n from written order by n`),
        )
        expect(isAlive(outlived)).toBe(false)
        expect(rows.map(({ n }) => n)).toEqual(expect.arrayContaining(acknowledged))
      }
      expect(yield* serverProcesses(folder)).toEqual([])
    }).pipe(Effect.scoped),
  )

  it.effect("starts after service and server were killed together in the middle of things", () =>
    Effect.gen(function* () {
      const folder = yield* temporaryFolder
      const acknowledged = yield* serviceUntil(folder, 30)
      yield* signalAll([yield* postmasterOf(folder)], "SIGKILL")
      const rows = yield* usingServer(
        folder,
        Effect.flatMap(Sql, (sql) => sql<{ n: number }>`select n from written order by n`),
      )
      expect(rows.map(({ n }) => n)).toEqual(expect.arrayContaining(acknowledged))
    }).pipe(Effect.scoped),
  )

  it.effect("refuses a second service on the same folder, and says whose it is", () =>
    Effect.gen(function* () {
      const folder = yield* temporaryFolder
      yield* startServer(folder)
      const second = Exit.findErrorOption(yield* Effect.exit(startServer(folder)))
      expect(second._tag === "Some" && second.value.message).toContain(`process ${process.pid}`)
    }).pipe(Effect.scoped),
  )

  it.effect("starts although the number in a stale pid file belongs to another process now", () =>
    Effect.gen(function* () {
      const folder = yield* temporaryFolder
      yield* usingServer(folder, insert)
      const cluster = join(folder, "database", "cluster")
      yield* Effect.promise(() =>
        writeFile(join(cluster, "postmaster.pid"), `${process.pid}\n${cluster}\n1\n5432\n\n\n  1 2\nready\n`),
      )
      expect(yield* usingServer(folder, count)).toBe(1)
    }).pipe(Effect.scoped),
  )

  it.effect("begins anew where an earlier creation was cut off", () =>
    Effect.gen(function* () {
      const folder = yield* temporaryFolder
      const draft = join(folder, "database", "cluster.new")
      yield* Effect.promise(async () => {
        await mkdir(draft, { recursive: true })
        await writeFile(join(draft, "PG_VERSION"), "18\n")
      })
      yield* usingServer(folder, insert)
      expect(yield* usingServer(folder, count)).toBe(1)
    }).pipe(Effect.scoped),
  )

  it.effect.each(["a long name ".repeat(12), 'a, "b" c', "é"])("works in a folder called %j", (name) =>
    Effect.gen(function* () {
      const folder = join(yield* temporaryFolder, name)
      yield* usingServer(folder, insert)
      expect(yield* usingServer(folder, count)).toBe(1)
    }).pipe(Effect.scoped),
  )

  it.effect("refuses the data of another version of PostgreSQL, and says what to do", () =>
    Effect.gen(function* () {
      const folder = yield* temporaryFolder
      yield* usingServer(folder, insert)
      yield* Effect.promise(() => writeFile(join(folder, "database", "cluster", "PG_VERSION"), "14\n"))
      const exit = Exit.findErrorOption(yield* Effect.exit(startServer(folder)))
      expect(exit._tag === "Some" && exit.value.message).toContain("made by PostgreSQL 14")
    }).pipe(Effect.scoped),
  )

  it.effect.skipIf(installed.length === 0)(
    "runs an installed PostgreSQL where the package for the platform is missing",
    () =>
      Effect.gen(function* () {
        const folder = yield* temporaryFolder
        const programs = yield* Effect.promise(() => firstThatRuns(installed))
        const cluster = yield* Effect.promise(() => openCluster(join(folder, "database"), { programs }))
        yield* Effect.acquireRelease(
          Effect.promise(() => startPostmaster(cluster)),
          ({ pid }) => Effect.promise(() => stopPostmaster(cluster, pid)),
        )
        yield* withSql(serverOf(cluster), insert)
        expect(yield* withSql(serverOf(cluster), count)).toBe(1)
      }).pipe(Effect.scoped),
  )

  it.effect("says what to do where there is no PostgreSQL at all", () =>
    Effect.gen(function* () {
      const nowhere = { bin: "/does/not/exist", environment: {} }
      const error = yield* Effect.flip(Effect.tryPromise(() => firstThatRuns([nowhere])))
      expect(String(error.cause)).toContain("Set DATABASE_URL")
    }),
  )

  it.effect("listens on a port of this machine, with a password, where there are no unix sockets", () =>
    Effect.gen(function* () {
      const folder = yield* temporaryFolder
      for (const times of [1, 2]) {
        yield* Effect.gen(function* () {
          const cluster = yield* Effect.promise(() => openCluster(join(folder, "database"), { kind: "port" }))
          yield* Effect.acquireRelease(
            Effect.promise(() => startPostmaster(cluster)),
            ({ pid }) => Effect.promise(() => stopPostmaster(cluster, pid)),
          )
          const server = serverOf(cluster)
          yield* withSql(server, insert)
          expect(yield* withSql(server, count)).toBe(times)
          const stranger = { ...server, password: Redacted.make("guessed") }
          expect(Exit.isFailure(yield* Effect.exit(withSql(stranger, count)))).toBe(true)
        }).pipe(Effect.scoped)
      }
    }).pipe(Effect.scoped),
  )

  it.effect.skipIf(process.getuid?.() !== 0)("runs as another user where root may not make a user namespace", () =>
    Effect.gen(function* () {
      const folder = yield* temporaryFolder
      yield* Effect.promise(async () => {
        await mkdir(join(folder, "bin"))
        await writeFile(
          join(folder, "bin", "unshare"),
          "#!/bin/sh\necho 'unshare failed: Operation not permitted' >&2\nexit 1\n",
          { mode: 0o755 },
        )
      })
      const path = process.env.PATH
      yield* Effect.acquireRelease(
        Effect.sync(() => {
          process.env.PATH = `${join(folder, "bin")}:${path}`
        }),
        () =>
          Effect.sync(() => {
            process.env.PATH = path
          }),
      )
      yield* usingServer(folder, insert)
      const owner = yield* usingServer(
        folder,
        Effect.flatMap(postmasterOf(folder), (pid) => Effect.promise(() => readFile(`/proc/${pid}/status`, "utf8"))),
      )
      expect(owner).toMatch(/^Uid:\s+65534/m)
    }).pipe(Effect.scoped),
  )
})
