/**
 * A few instances of one policy. Each answers one call at a time; a call waits for a free one, so many of them and so long, and is
 * refused otherwise. An instance that is spent is closed and replaced. Closing the scope refuses new calls, waits for those that
 * were taken, and closes every instance.
 */
import { Data, Deferred, Duration, Effect, Exit, type Scope } from "effect"

export interface Member<Ask, Answer> {
  /** Never asked again before this has ended. */
  readonly ask: (ask: Ask) => Effect.Effect<Answer>
  /** It cannot be asked again. Looked at after each call. */
  readonly spent: () => boolean
  readonly close: Effect.Effect<void>
}

export interface PoolOptions<Ask, Answer, E> {
  readonly open: Effect.Effect<Member<Ask, Answer>, E>
  /** Instances at most. They are opened when they are needed. */
  readonly size: number
  /** Calls that wait at most; one more is refused at once. */
  readonly queue: number
  /** How long a call waits. */
  readonly wait: Duration.Duration
}

export class PoolRefused extends Data.TaggedError("PoolRefused")<{
  readonly reason: "full" | "waited" | "closed"
  readonly message: string
}> {}

export interface Pool<Ask, Answer, E> {
  readonly ask: (ask: Ask) => Effect.Effect<Answer, E | PoolRefused>
  readonly load: () => PoolLoad
}

export interface PoolLoad {
  readonly running: number
  readonly waiting: number
  /** Instances that are open. */
  readonly open: number
}

/** Calls in progress have so long when the pool is closed. */
const drainLimit = Duration.seconds(5)

/** What a waiting call is: it is served by whoever leaves, or gives up by itself. */
interface Waiter {
  readonly turn: Deferred.Deferred<void>
  served: boolean
}

export const makePool = Effect.fnUntraced(function* <Ask, Answer, E>(
  options: PoolOptions<Ask, Answer, E>,
): Effect.fn.Return<Pool<Ask, Answer, E>, never, Scope.Scope> {
  const idle: Array<Member<Ask, Answer>> = []
  const waiters: Array<Waiter> = []
  const drained = Deferred.makeUnsafe<void>()
  let running = 0
  let open = 0
  let closed = false
  let ended = false

  /** The place of a call that ended goes to the one that waits longest. */
  const leave = (): void => {
    const next = waiters.shift()
    if (next === undefined) running--
    else {
      next.served = true
      Deferred.doneUnsafe(next.turn, Exit.void)
    }
    if (closed && running === 0) Deferred.doneUnsafe(drained, Exit.void)
  }

  const enter = Effect.fnUntraced(function* (restore: <A, F>(effect: Effect.Effect<A, F>) => Effect.Effect<A, F>) {
    if (closed) return yield* refused("closed", "The policy is being exchanged.")
    if (running < options.size) {
      running++
      return
    }
    if (waiters.length >= options.queue) {
      return yield* refused("full", `${options.queue} questions wait for this policy already.`)
    }
    const waiter: Waiter = { turn: Deferred.makeUnsafe(), served: false }
    waiters.push(waiter)
    const exit = yield* Effect.exit(restore(Effect.timeoutOption(Deferred.await(waiter.turn), options.wait)))
    if (!waiter.served) waiters.splice(waiters.indexOf(waiter), 1)
    // served in the very moment of being interrupted: the place is passed on
    else if (Exit.isFailure(exit)) leave()
    if (Exit.isFailure(exit)) return yield* exit
    if (waiter.served) return
    return yield* refused("waited", `No instance was free within ${Duration.toMillis(options.wait)} ms.`)
  })

  const obtain = Effect.suspend(() => {
    const member = idle.pop()
    return member === undefined ? Effect.tap(options.open, () => Effect.sync(() => open++)) : Effect.succeed(member)
  })

  const discard = (member: Member<Ask, Answer>): Effect.Effect<void> =>
    Effect.andThen(
      Effect.sync(() => open--),
      member.close,
    )

  const giveBack = (member: Member<Ask, Answer>, failed: boolean): Effect.Effect<void> => {
    // a call that was given up may still be running in there; one that never began leaves no trace
    if (failed || member.spent() || ended) return discard(member)
    return Effect.sync(() => idle.push(member))
  }

  yield* Effect.addFinalizer(() =>
    Effect.gen(function* () {
      closed = true
      if (running > 0) yield* Effect.timeoutOption(Deferred.await(drained), drainLimit)
      ended = true
      yield* Effect.forEach(idle.splice(0), discard, { discard: true })
    }),
  )

  return {
    ask: (ask) =>
      Effect.uninterruptibleMask((restore) =>
        Effect.gen(function* () {
          yield* enter(restore)
          return yield* Effect.gen(function* () {
            // never left half open: whoever gave up meanwhile leaves it to the next
            const member = yield* obtain
            let begun = false
            const asking = Effect.suspend(() => {
              begun = true
              return member.ask(ask)
            })
            const exit = yield* Effect.exit(restore(asking))
            yield* giveBack(member, begun && Exit.isFailure(exit))
            return yield* exit
          }).pipe(Effect.ensuring(Effect.sync(leave)))
        }),
      ),
    load: () => ({ running, waiting: waiters.length, open }),
  }
})

const refused = (reason: PoolRefused["reason"], message: string) => Effect.fail(new PoolRefused({ reason, message }))
