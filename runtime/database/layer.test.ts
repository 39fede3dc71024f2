import { expect, layer } from "@effect/vitest"
import { Duration, Effect, Layer } from "effect"
import { inject } from "vitest"
import { Settings, settingsForTests } from "#core/settings.ts"
import { Sql } from "#core/sql.ts"
import { layerDatabase } from "#runtime/database/layer.ts"
import { runningServer } from "#runtime/database/running.ts"
import { DatabaseServer } from "#runtime/database/server.ts"
import { temporaryFolder } from "#test/support/private-server.ts"

type Overrides = Parameters<typeof settingsForTests>[0]

const using = <A, E>(overrides: Overrides, effect: Effect.Effect<A, E, Sql | DatabaseServer>) =>
  effect.pipe(
    Effect.provide(Layer.fresh(layerDatabase)),
    Effect.provideService(Settings, settingsForTests(overrides)),
    Effect.scoped,
  )

const answer = Effect.gen(function* () {
  const sql = yield* Sql
  const { embedded } = yield* DatabaseServer
  return { embedded, rows: yield* sql`select 1 as one` }
})

layer(Layer.empty, { excludeTestServices: true, timeout: "30 seconds" })("the database of the settings", (it) => {
  it.effect("is an embedded one in the data folder where no address is given", () =>
    Effect.gen(function* () {
      const Directory = yield* temporaryFolder
      expect(yield* using({ Data: { Directory } }, answer)).toEqual({ embedded: true, rows: [{ one: 1 }] })
    }).pipe(Effect.scoped),
  )

  it.effect("is shared with who finds it in the data folder while it runs, and with nobody after it", () =>
    Effect.gen(function* () {
      const Directory = yield* temporaryFolder
      const running = Effect.promise(() => runningServer(Directory))
      const shared = Effect.gen(function* () {
        const server = yield* running
        if (server === undefined) return yield* Effect.die("it was not found")
        return yield* Effect.provide(
          Effect.flatMap(Sql, (sql) => sql`select 1 as one`),
          Layer.fresh(Sql.layer({ server, poolSize: 1, deadline: Duration.seconds(5) })),
        )
      })
      expect(yield* running).toBeUndefined()
      expect(yield* using({ Data: { Directory } }, shared)).toEqual([{ one: 1 }])
      expect(yield* running).toBeUndefined()
    }).pipe(Effect.scoped),
  )

  it.effect("is the server at the address, where one is given", () =>
    Effect.gen(function* () {
      const { host, port, user, database } = inject("databaseServer")
      const Url = `postgres://${user}@${encodeURIComponent(host)}:${port}/${database}`
      expect(yield* using({ Database: { Url } }, answer)).toEqual({ embedded: false, rows: [{ one: 1 }] })
    }),
  )

  it.effect("need not be there when the service starts", () =>
    Effect.gen(function* () {
      const Url = "postgres://svc:a-password@127.0.0.1:1/svc"
      const failure = yield* using({ Database: { Url, QueryTimeoutSeconds: 1 } }, Effect.flip(answer))
      expect(failure).toMatchObject({ _tag: "DatabaseUnavailable", reason: "connection_refused" })
      expect(JSON.stringify(failure)).not.toMatch(/127|password/)
    }),
  )
})
