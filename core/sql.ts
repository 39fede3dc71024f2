/**
 * PostgreSQL as a service: statements as tagged templates, transactions that join when nested and
 * wait for their rollback when interrupted, and one failure, `DatabaseUnavailable`, for a database
 * that is gone, slow or restarting. A statement that is itself wrong (a constraint, a missing column)
 * is a defect: constraints are asked for with `on conflict`, or caught with `onUniqueViolation`.
 *
 * The layer connects when the first statement comes, and not before: the service starts before its
 * database does.
 */
import { Context, Duration, Effect, Exit, Layer, type Scope } from "effect"
import { Metrics } from "#core/ports/metrics.ts"
import { addressOf, type Server } from "#core/sql/address.ts"
import { type DatabaseUnavailable, StatementRefused } from "#core/sql/failure.ts"
import { makeListener } from "#core/sql/listen.ts"
import { makePool, type Pool } from "#core/sql/pool.ts"
import type { Cancel, Rows, Session, Settle } from "#core/sql/session.ts"
import { type Fragment, JsonFragment, type SqlValue, TemplateFragment } from "#core/sql/statement.ts"
import {
  CurrentLevel,
  levelOn,
  runActions,
  runInTransaction,
  savepoint,
  statement,
  transact,
} from "#core/sql/transaction.ts"

export type { Server } from "#core/sql/address.ts"
export { DatabaseUnavailable, StatementRefused } from "#core/sql/failure.ts"
export type { Fragment, SqlValue } from "#core/sql/statement.ts"

/**
 * A way to run statements: the pool, or a connection set aside. Runs one statement: in the current
 * transaction where there is one, except on a connection set aside.
 */
export type Connection = <Row extends object = Record<string, unknown>>(
  strings: TemplateStringsArray,
  ...values: ReadonlyArray<SqlValue>
) => Effect.Effect<ReadonlyArray<Row>, DatabaseUnavailable>

export interface SqlShape extends Connection {
  readonly fragment: (strings: TemplateStringsArray, ...values: ReadonlyArray<SqlValue>) => Fragment
  /** A JSON parameter (`json` or `jsonb`). A string parameter for such a column is taken as JSON text. */
  readonly json: (value: unknown) => Fragment
  /** Runs several statements without parameters, separated by semicolons: a migration. In the current transaction, or all as one. */
  readonly script: (text: string) => Effect.Effect<void, DatabaseUnavailable>
  /**
   * Runs `effect` in one transaction: committed when it succeeds, rolled back when it fails, dies or
   * is interrupted, and the rollback is waited for. Inside another transaction it joins that one: there
   * is one commit, and where the inner one fails only what it did is undone. Run again, at most 3
   * times, where the database chose it as a deadlock or serialization victim: what is inside must only
   * talk to the database. All its waiting for the database, together, ends with the deadline.
   */
  readonly transaction: <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E | DatabaseUnavailable, R>
  /** Is this effect running inside a transaction? */
  readonly inTransaction: Effect.Effect<boolean>
  /** Runs `action` once the surrounding transaction is committed (never when it is not); outside of one, at once. */
  readonly afterCommit: (action: () => void) => Effect.Effect<void>
  /**
   * A connection set aside, reconnecting by itself, closed with the scope; one statement at a time, never
   * in a transaction. For the log's writer and its notifications.
   */
  readonly dedicated: (name: string) => Effect.Effect<Connection, never, Scope.Scope>
  /**
   * Calls `onMessage` for every notification on `channel`, and `onListening` whenever listening begins
   * (again): what was sent in between is lost. One connection for all channels of the process.
   */
  readonly listen: (
    channel: string,
    onMessage: (payload: string) => void,
    onListening: () => void,
  ) => Effect.Effect<void, never, Scope.Scope>
}

export interface SqlOptions {
  readonly server: Server
  /** Connections for statements and transactions, beside those set aside; 10 where absent. */
  readonly poolSize?: number
  /** Time in which a statement, or all the statements of a transaction, must be answered; 4.5 s where absent. */
  readonly deadline?: Duration.Input
  /** Shown by the server beside each connection; `svc` where absent. */
  readonly applicationName?: string
}

/** A little less than the 5 s in which callers must have their answer. */
export const defaultDeadline = Duration.millis(4_500)
const defaultPoolSize = 10

/** Another deadline for the statements of an effect: a migration may take longer. */
export const StatementDeadline = Context.Reference<Duration.Duration | undefined>("core/Sql/StatementDeadline", {
  defaultValue: () => undefined,
})

export class Sql extends Context.Service<Sql, SqlShape>()("core/Sql") {
  static readonly layer = (options: SqlOptions): Layer.Layer<Sql> => Layer.effect(Sql, makeSql(options))
}

/**
 * Turns the violation of the named unique constraint (or index) into another outcome. Inside a
 * transaction what `effect` did is undone first, and the transaction goes on.
 */
export const onUniqueViolation =
  <A2, E2, R2>(constraint: string, handler: () => Effect.Effect<A2, E2, R2>) =>
  <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A | A2, E | E2, R | R2> =>
    Effect.withFiber((fiber): Effect.Effect<A | A2, E | E2, R | R2> => {
      const level = fiber.getRef(CurrentLevel)
      const undone = level === undefined || level.transaction.ended ? effect : savepoint(level, level, effect)
      return Effect.catchDefect(
        undone,
        (defect): Effect.Effect<A2, E2, R2> =>
          defect instanceof StatementRefused && defect.code === uniqueViolation && defect.constraint === constraint
            ? handler()
            : Effect.die(defect),
      )
    })

const uniqueViolation = "23505"

/** Runs `effect` outside of the transaction of its fiber: for a fiber that outlives it. */
export const outsideTransaction = Effect.provideService(CurrentLevel, undefined)

export const makeSql = Effect.fnUntraced(function* (options: SqlOptions) {
  const { poolSize = defaultPoolSize, applicationName = "svc" } = options
  const address = addressOf(options.server)
  const deadline = Duration.fromInputUnsafe(options.deadline ?? defaultDeadline)
  const openPool = (name: string, size: number, shrinks: boolean) =>
    Effect.acquireRelease(
      Effect.sync(() => makePool({ address, deadline, applicationName: name, size, shrinks })),
      (pool) => Effect.sync(pool.close),
    )
  const pool = yield* openPool(applicationName, poolSize, true)
  yield* sampledUse(pool)
  const listener = yield* makeListener({ address, deadline, applicationName: `${applicationName}-listen` })

  const run = (send: Send): Effect.Effect<Rows, DatabaseUnavailable> =>
    Effect.withFiber((fiber) => {
      const level = levelOn(fiber.getRef(CurrentLevel), pool)
      if (level !== undefined) return runInTransaction(level, send)
      return runOnPool(pool, Duration.toMillis(fiber.getRef(StatementDeadline) ?? deadline), send)
    })
  const template: Connection = (strings, ...values) =>
    // the caller says what the rows of its statement look like
    run((session, millis, settle) => session.send(strings, values, millis, settle)) as never

  return Sql.of(
    Object.assign(template, {
      fragment: (strings: TemplateStringsArray, ...values: ReadonlyArray<SqlValue>) =>
        new TemplateFragment(strings, values),
      json: (value: unknown) => new JsonFragment(value),
      script: (text: string) => Effect.asVoid(run((session, millis, settle) => session.script(text, millis, settle))),
      transaction: <A, E, R>(effect: Effect.Effect<A, E, R>) =>
        Effect.flatMap(StatementDeadline, (own) => transact(pool, Duration.toMillis(own ?? deadline), effect)),
      inTransaction: Effect.withFiberSucceed((fiber) => levelOn(fiber.getRef(CurrentLevel), pool) !== undefined),
      afterCommit: (action: () => void) =>
        Effect.withFiber((fiber) => {
          const level = levelOn(fiber.getRef(CurrentLevel), pool)
          if (level === undefined || level.transaction.ended) return runActions([action])
          level.transaction.actions.push(action)
          return Effect.void
        }),
      dedicated: Effect.fnUntraced(function* (name: string) {
        const apart = yield* openPool(name, 1, false)
        const connection: Connection = (strings, ...values) =>
          runOnPool(apart, Duration.toMillis(deadline), (session, millis, settle) =>
            session.send(strings, values, millis, settle),
          ) as never
        return connection
      }),
      listen: listener.listen,
    }),
  )
})

/** The use of the pool, for whoever looks at the metrics. */
const sampledUse = Effect.fnUntraced(function* (pool: Pool) {
  const metrics = yield* Metrics
  const stops = [
    metrics.sampled("svc_database_connections", () => pool.use().busy, { state: "busy" }),
    metrics.sampled("svc_database_connections", () => pool.use().idle, { state: "idle" }),
    metrics.sampled("svc_database_waiting", () => pool.use().waiting),
  ]
  yield* Effect.addFinalizer(() =>
    Effect.sync(() => {
      for (const stop of stops) stop()
    }),
  )
})

type Send = (session: Session, millis: number, settle: Settle) => Cancel

const runOnPool = (pool: Pool, millis: number, send: Send): Effect.Effect<Rows, DatabaseUnavailable> =>
  Effect.callback((resume) => {
    let untilSettled: Effect.Effect<void> = Effect.void
    const startedAt = performance.now()
    const withdraw = pool.acquire(millis, (acquired) => {
      if (Exit.isFailure(acquired)) return resume(Exit.failCause(acquired.cause))
      const session = acquired.value
      untilSettled = statement(
        session,
        (settle) => send(session, Math.max(millis - (performance.now() - startedAt), 1), settle),
        (outcome) => {
          pool.release(session)
          resume(outcome)
        },
      )
    })
    return Effect.suspend(() => {
      withdraw()
      return untilSettled
    })
  })
