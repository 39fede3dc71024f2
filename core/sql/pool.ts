/**
 * Connections to one server, made when they are needed and made again when they are lost.
 *
 * Waiting is bounded in number and in time. While the server is away connections are tried with a
 * growing, jittered pause; whoever asks meanwhile waits at first, and is refused at once when the outage
 * lasts. Nothing here reads the clock of the wall.
 */
import { Exit } from "effect"
import { type DatabaseUnavailable, unavailable } from "#core/sql/failure.ts"
import { openSession, type Session, type SessionOptions } from "#core/sql/session.ts"

export interface PoolOptions extends Omit<SessionOptions, "onLost" | "onNotification"> {
  /** Connections at most. */
  readonly size: number
  /** Whether connections that nobody needed for a while are closed. */
  readonly shrinks: boolean
}

export interface Pool {
  /**
   * Gives a session to use until it is given back, or why there is none. Waits for a part of `millis`
   * only: what is left is for the statement. The answer may come at once.
   */
  readonly acquire: (millis: number, settle: (acquired: Exit.Exit<Session, DatabaseUnavailable>) => void) => Withdraw
  readonly release: (session: Session) => void
  /** How it is used now: connections that are busy or free, and who waits for one. */
  readonly use: () => { readonly busy: number; readonly idle: number; readonly waiting: number }
  readonly close: () => void
}

/** Stops waiting. Without effect once a session was given. */
export type Withdraw = () => void

/** The part of a statement's time that may be spent waiting for a connection. */
const waitShare = 0.8
/** Who may wait for each connection; more are refused with `overloaded`. */
const waitingPerConnection = 64
/** Pause before the next attempt to connect: doubled with each failure, jittered down to its half. */
const firstPauseMillis = 50
const longestPauseMillis = 1_000
/** An outage that is younger than this is waited out by those who ask for a connection. */
const patienceMillis = 2_000
/** A connection is replaced at this age, so that memory of the server and stale routes do not pile up. */
const lifetimeMillis = 30 * 60_000
/** A connection that nobody needed for this long is closed. */
const idleMillis = 60_000
const sweepMillis = 15_000
/** Time that statements under way have when the pool closes. */
const graceMillis = 1_000

interface Waiter {
  readonly settle: (acquired: Exit.Exit<Session, DatabaseUnavailable>) => void
  readonly timer: NodeJS.Timeout
}

interface Outage {
  readonly since: number
  failures: number
  why: DatabaseUnavailable
  /** Set while the next attempt is waited for. */
  retry: NodeJS.Timeout | undefined
}

interface Idle {
  readonly session: Session
  readonly since: number
}

export const makePool = (options: PoolOptions): Pool => {
  /** The most recently used last. */
  const idle: Array<Idle> = []
  const waiting = new Set<Waiter>()
  const sessions = new Set<Session>()
  let opening = 0
  let outage: Outage | undefined
  let closed = false

  const refuseAll = (why: DatabaseUnavailable): void => {
    for (const waiter of [...waiting]) settle(waiter, Exit.fail(why))
  }
  const settle = (waiter: Waiter, acquired: Exit.Exit<Session, DatabaseUnavailable>): void => {
    clearTimeout(waiter.timer)
    waiting.delete(waiter)
    waiter.settle(acquired)
  }
  const offer = (session: Session): void => {
    const [next] = waiting
    if (next === undefined) idle.push({ session, since: performance.now() })
    else settle(next, Exit.succeed(session))
  }

  const openWhereNeeded = (): void => {
    if (closed || outage?.retry !== undefined) return
    // one at a time while the server is away: an outage is not the time for a crowd
    const wanted = outage === undefined ? waiting.size : Math.min(waiting.size, 1)
    const more = Math.min(options.size - sessions.size, wanted - opening)
    for (let i = 0; i < more; i++) open()
  }

  const open = (): void => {
    opening++
    const startedAt = performance.now()
    const session = openSession(
      {
        ...options,
        onLost: () => {
          sessions.delete(session)
          const place = idle.findIndex((entry) => entry.session === session)
          if (place >= 0) idle.splice(place, 1)
          openWhereNeeded()
        },
      },
      (opened) => {
        opening--
        if (Exit.isSuccess(opened)) {
          outage = undefined
          if (closed) return session.close()
          offer(session)
          return openWhereNeeded()
        }
        const failure = Exit.findErrorOption(opened)
        suffer(startedAt, failure._tag === "Some" ? failure.value : unavailable("connection_lost"))
      },
    )
    sessions.add(session)
  }

  const suffer = (startedAt: number, why: DatabaseUnavailable): void => {
    if (closed) return
    outage ??= { since: startedAt, failures: 0, why, retry: undefined }
    outage.why = why
    outage.failures++
    if (performance.now() - outage.since > patienceMillis) refuseAll(why)
    if (outage.retry !== undefined) return
    const pause = Math.min(firstPauseMillis * 2 ** (outage.failures - 1), longestPauseMillis)
    const present = outage
    present.retry = setTimeout(
      () => {
        present.retry = undefined
        openWhereNeeded()
      },
      pause * (0.5 + Math.random() / 2),
    )
    present.retry.unref()
  }

  const sweep = setInterval(() => {
    const now = performance.now()
    while (options.shrinks && idle[0] !== undefined && now - idle[0].since > idleMillis) idle.shift()?.session.close()
  }, sweepMillis)
  sweep.unref()

  return {
    acquire: (millis, settleOne) => {
      const ready = idle.pop()
      if (ready !== undefined) {
        settleOne(Exit.succeed(ready.session))
        return () => {}
      }
      const refusal = closed
        ? unavailable("closing")
        : waiting.size >= options.size * waitingPerConnection
          ? unavailable("overloaded")
          : outage?.retry !== undefined && performance.now() - outage.since > patienceMillis
            ? outage.why
            : undefined
      if (refusal !== undefined) {
        settleOne(Exit.fail(refusal))
        return () => {}
      }
      const timer = setTimeout(
        () => settle(waiter, Exit.fail(outage?.why ?? unavailable("timeout"))),
        millis * waitShare,
      )
      const waiter: Waiter = { settle: settleOne, timer }
      waiting.add(waiter)
      openWhereNeeded()
      return () => {
        clearTimeout(timer)
        waiting.delete(waiter)
      }
    },
    release: (session) => {
      if (session.isLost()) return
      if (closed || session.isSpent() || performance.now() - session.openedAt > lifetimeMillis) {
        session.close()
        return openWhereNeeded()
      }
      offer(session)
    },
    use: () => ({ busy: sessions.size - idle.length, idle: idle.length, waiting: waiting.size }),
    close: () => {
      closed = true
      clearInterval(sweep)
      clearTimeout(outage?.retry)
      refuseAll(unavailable("closing"))
      for (const { session } of idle.splice(0)) session.close()
      setTimeout(() => {
        for (const session of [...sessions]) session.lose(unavailable("closing"))
      }, graceMillis).unref()
    },
  }
}
