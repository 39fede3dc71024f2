/**
 * Transactions on one connection each. The end of a transaction (commit or rollback) is always waited
 * for, also when the fiber is interrupted; a connection whose rollback failed is not used again.
 *
 * A transaction inside another one is a savepoint: it shares the one commit, and when it fails only what
 * it did is undone. Savepoints are sent ahead and cost no round trip.
 */
import { Context, Effect, Exit, Semaphore } from "effect"
import { type DatabaseUnavailable, isVictim, unavailable } from "#core/sql/failure.ts"
import type { Pool } from "#core/sql/pool.ts"
import type { Cancel, Rows, Session, Settle } from "#core/sql/session.ts"

export interface Transaction {
  readonly pool: Pool
  readonly session: Session
  readonly budget: Budget
  /** Actions for after the commit, in the order in which they were given. */
  readonly actions: Array<() => void>
  savepoints: number
  ended: boolean
  /** The database chose this transaction to be ended: it may be tried again as a whole. */
  victim: boolean
  /** The first sign that the database is not well; says why a commit did not happen. */
  failure: DatabaseUnavailable | undefined
}

/** Time, in milliseconds, that may still be spent waiting for the database. */
interface Budget {
  millis: number
}

/** Where in which transaction a fiber is. */
export interface Level {
  readonly transaction: Transaction
  /** Transactions inside this level take turns: savepoints are a stack. */
  readonly turn: Semaphore.Semaphore
  /** The level outside of this one; of another database, perhaps. */
  readonly outer: Level | undefined
}

export const CurrentLevel = Context.Reference<Level | undefined>("core/Sql/CurrentLevel", {
  defaultValue: () => undefined,
})

/** A transaction that was chosen as a victim is run again so many times at most. */
const retries = 3
/** Pause before that, jittered; the other one should be through by then. */
const retryMillis = 10
/** An end of a transaction has at least this time, whatever was spent before. */
const endMillis = 400
/** A statement that is under way when its fiber is interrupted may end by itself; then it is cancelled, then given up. */
const interruptGraceMillis = 50
const cancelGraceMillis = 1_000

/** The level of the transaction on `pool` that the fiber with `level` is in. */
export const levelOn = (level: Level | undefined, pool: Pool): Level | undefined => {
  for (let at = level; at !== undefined; at = at.outer) if (at.transaction.pool === pool) return at
  return undefined
}

/** Runs a statement on a session; when interrupted, waits until the server is done with it. */
export const statement = (session: Session, send: (settle: Settle) => Cancel, settled: Settle): Effect.Effect<void> => {
  let whenSettled: (() => void) | undefined
  let open = true
  const cancel = send((outcome) => {
    open = false
    settled(outcome)
    whenSettled?.()
  })
  return Effect.callback<void>((resume) => {
    if (!open) return resume(Effect.void)
    const grace = setTimeout(cancel, interruptGraceMillis)
    const end = setTimeout(() => session.lose(unavailable("timeout")), interruptGraceMillis + cancelGraceMillis)
    whenSettled = () => {
      clearTimeout(grace)
      clearTimeout(end)
      resume(Effect.void)
    }
  })
}

/** A statement of a transaction, on the time that the transaction has left. */
export const runInTransaction = (
  { transaction }: Level,
  send: (session: Session, millis: number, settle: Settle) => Cancel,
): Effect.Effect<Rows, DatabaseUnavailable> =>
  Effect.callback((resume) => {
    if (transaction.ended) return resume(Effect.die(transactionEnded()))
    const { session, budget } = transaction
    const startedAt = performance.now()
    return statement(
      session,
      (settle) => send(session, Math.max(budget.millis, 1), settle),
      (outcome) => {
        budget.millis -= performance.now() - startedAt
        note(transaction, outcome)
        resume(outcome)
      },
    )
  })

const note = (transaction: Transaction, outcome: Exit.Exit<unknown, DatabaseUnavailable>): void => {
  const failure = Exit.findErrorOption(outcome)
  if (failure._tag === "None") return
  transaction.failure ??= failure.value
  if (isVictim(failure.value.reason)) transaction.victim = true
}

/** Runs `effect` in a transaction on `pool`, or as a savepoint of the one that the fiber is in. */
export const transact = <A, E, R>(
  pool: Pool,
  millis: number,
  effect: Effect.Effect<A, E, R>,
): Effect.Effect<A, E | DatabaseUnavailable, R> =>
  Effect.withFiber((fiber) => {
    const current = fiber.getRef(CurrentLevel)
    const level = levelOn(current, pool)
    if (level !== undefined) return savepoint(level, current, effect)
    const budget: Budget = { millis }
    const run = (left: number): Effect.Effect<A, E | DatabaseUnavailable, R> =>
      Effect.flatMap(attempt(pool, budget, current, effect), ({ exit, victim }) =>
        victim && left > 0 ? Effect.andThen(Effect.sleep(retryMillis * (0.5 + Math.random())), run(left - 1)) : exit,
      )
    return run(retries)
  })

/** Runs `effect` so that what it did can be undone alone. */
export const savepoint = <A, E, R>(
  level: Level,
  current: Level | undefined,
  effect: Effect.Effect<A, E, R>,
): Effect.Effect<A, E, R> => {
  const { transaction } = level
  const run = Effect.uninterruptibleMask((restore) =>
    Effect.suspend(() => {
      if (transaction.ended) return Effect.die(transactionEnded())
      const name = `s${++transaction.savepoints}`
      const actions = transaction.actions.length
      post(transaction, `savepoint ${name}`)
      const inner: Level = { transaction, turn: Semaphore.makeUnsafe(1), outer: current }
      return Effect.onExit(restore(Effect.provideService(effect, CurrentLevel, inner)), (exit) =>
        Effect.sync(() => {
          if (Exit.isSuccess(exit)) return post(transaction, `release savepoint ${name}`)
          transaction.actions.length = actions
          if (!transaction.victim) post(transaction, `rollback to savepoint ${name}; release savepoint ${name}`)
        }),
      )
    }),
  )
  return level.turn.withPermits(1)(run)
}

/** Runs the actions one after the other; one that throws is reported and does not keep the others from running. */
export const runActions = (actions: ReadonlyArray<() => void>): Effect.Effect<void> =>
  actions.length === 0
    ? Effect.void
    : Effect.forEach(
        actions,
        (action) =>
          Effect.catchCause(Effect.sync(action), (cause) => Effect.logError("An action after a commit failed.", cause)),
        { discard: true },
      )

interface Attempt<A, E> {
  readonly exit: Exit.Exit<A, E | DatabaseUnavailable>
  readonly victim: boolean
}

const attempt = <A, E, R>(pool: Pool, budget: Budget, outer: Level | undefined, effect: Effect.Effect<A, E, R>) =>
  Effect.uninterruptibleMask((restore) =>
    Effect.suspend(() => {
      const opening = open(pool, budget)
      const inside = Effect.suspend(() => {
        const transaction = opening.transaction()
        if (transaction === undefined) return Effect.die(new Error("a transaction did not begin"))
        return Effect.provideService(effect, CurrentLevel, { transaction, turn: Semaphore.makeUnsafe(1), outer })
      })
      return restore(Effect.andThen(opening.begin, inside)).pipe(
        Effect.exit,
        Effect.flatMap((exit): Effect.Effect<Attempt<A, E>> => {
          const transaction = opening.transaction()
          return transaction === undefined ? Effect.succeed({ exit, victim: false }) : finish(transaction, exit)
        }),
      )
    }),
  )

/**
 * A session with `begin` sent. The transaction is handed over by a variable and not by the effect, so
 * that an interruption between the two cannot lose a connection.
 */
const open = (pool: Pool, budget: Budget) => {
  let transaction: Transaction | undefined
  const begin = Effect.callback<void, DatabaseUnavailable>((resume) => {
    const startedAt = performance.now()
    const whole = budget.millis
    const spend = () => {
      budget.millis = whole - (performance.now() - startedAt)
    }
    let untilSettled: Effect.Effect<void> = Effect.void
    const withdraw = pool.acquire(whole, (acquired) => {
      spend()
      if (Exit.isFailure(acquired)) return resume(Exit.asVoid(acquired))
      const session = acquired.value
      const settled: Settle = (outcome) => {
        spend()
        if (Exit.isSuccess(outcome)) transaction = newTransaction(pool, session, budget)
        else giveUp(pool, session)
        resume(Exit.asVoid(outcome))
      }
      untilSettled = statement(
        session,
        (settle) => session.script("begin", Math.max(budget.millis, 1), settle),
        settled,
      )
    })
    return Effect.suspend(() => {
      withdraw()
      return untilSettled
    })
  })
  return { begin, transaction: () => transaction }
}

const newTransaction = (pool: Pool, session: Session, budget: Budget): Transaction => ({
  pool,
  session,
  budget,
  actions: [],
  savepoints: 0,
  ended: false,
  victim: false,
  failure: undefined,
})

/** Commits or rolls back, gives the connection back, and says what came of it. */
const finish = <A, E>(
  transaction: Transaction,
  exit: Exit.Exit<A, E | DatabaseUnavailable>,
): Effect.Effect<Attempt<A, E>> =>
  Effect.suspend(() => {
    transaction.ended = true
    return Exit.isSuccess(exit) && !transaction.victim ? commit(transaction, exit.value) : rollback(transaction, exit)
  })

const commit = <A>(transaction: Transaction, value: A): Effect.Effect<Attempt<A, never>> =>
  Effect.flatMap(end(transaction, "commit"), (outcome): Effect.Effect<Attempt<A, never>> => {
    const { pool, session } = transaction
    note(transaction, outcome)
    pool.release(session)
    if (Exit.isFailure(outcome))
      return Effect.succeed({ exit: Exit.failCause(outcome.cause), victim: transaction.victim })
    if (outcome.value.command === "COMMIT")
      return Effect.as(runActions(transaction.actions), { exit: Exit.succeed(value), victim: false })
    // the server answers a commit after a failed statement with a rollback, and no error
    const why = transaction.failure
    const undone = why === undefined ? Exit.die(new Error(recovered)) : Exit.fail(why)
    return Effect.succeed({ exit: undone, victim: transaction.victim })
  })

const recovered =
  "A statement of a transaction was refused, and the code went on: nothing was committed. Catch it with onUniqueViolation, or avoid it with `on conflict`."

const rollback = <A, E>(
  transaction: Transaction,
  exit: Exit.Exit<A, E | DatabaseUnavailable>,
): Effect.Effect<Attempt<A, E>> =>
  Effect.map(end(transaction, "rollback"), (outcome): Attempt<A, E> => {
    const { pool, session, failure, victim } = transaction
    if (Exit.isSuccess(outcome)) pool.release(session)
    else giveUp(pool, session)
    return { exit: Exit.isSuccess(exit) ? Exit.fail(failure ?? unavailable("connection_lost")) : exit, victim }
  })

const giveUp = (pool: Pool, session: Session): void => {
  session.lose(unavailable("connection_lost"))
  pool.release(session)
}

const end = ({ session, budget }: Transaction, word: "commit" | "rollback") =>
  Effect.callback<Exit.Exit<Rows, DatabaseUnavailable>>((resume) => {
    session.script(word, Math.max(budget.millis, endMillis), (outcome) => resume(Exit.succeed(outcome)))
  })

/** Sends a statement ahead, without waiting for it. Where it fails, all that follows fails too. */
const post = (transaction: Transaction, text: string): void => {
  const { session, budget } = transaction
  session.script(text, Math.max(budget.millis, endMillis), (outcome) => note(transaction, outcome))
}

const transactionEnded = (): Error => new Error("The transaction of this fiber has ended.")
