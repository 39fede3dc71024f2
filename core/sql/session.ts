/**
 * One connection to the server, used once: it is dialled, it works, and when it is lost it stays lost.
 * It never connects again, so that a statement of a transaction can never run outside of it.
 *
 * Every statement ends: with rows, with the server's refusal, with the loss of the connection, or at
 * its deadline, which also ends the connection. The driver's own pool, reservations and queues, which
 * can leave statements without an end, are not used.
 */
import { Duration, Exit } from "effect"
import postgres from "postgres"
import type { DriverAddress } from "#core/sql/address.ts"
import { cancelBackend, type Dialled, dial } from "#core/sql/dial.ts"
import { classify, DatabaseUnavailable, endsConnection, unavailable } from "#core/sql/failure.ts"
import { type Bound, flatten, hasFragments, JsonFragment, type SqlValue } from "#core/sql/statement.ts"
import { jsonbType, postgresTypes } from "#core/sql/types.ts"

export interface SessionOptions {
  readonly address: DriverAddress
  /** Shown by the server in `pg_stat_activity`. */
  readonly applicationName: string
  /** Time that a statement has. */
  readonly deadline: Duration.Duration
  readonly onNotification?: (channel: string, payload: string) => void
  /** Called once, when the connection is gone, for whatever reason. */
  readonly onLost: () => void
}

export interface Rows extends ReadonlyArray<object> {
  /** The command tag: `SELECT`, `COMMIT`, `ROLLBACK`, … */
  readonly command?: string
}

export type Settle = (outcome: Exit.Exit<Rows, DatabaseUnavailable>) => void

/** Asks the server to stop a statement. Whether it does shows when the statement settles. */
export type Cancel = () => void

export interface Session {
  readonly openedAt: number
  readonly isLost: () => boolean
  /**
   * True where nobody else should use it: the server turned away what it was asked, or a cancellation
   * was sent, which may arrive late and must not hit the next user's statement.
   */
  readonly isSpent: () => boolean
  /** One statement. Several may be under way: they run in the order in which they were sent. */
  readonly send: (
    strings: TemplateStringsArray,
    values: ReadonlyArray<SqlValue>,
    millis: number,
    settle: Settle,
  ) => Cancel
  /** Several statements without parameters, separated by semicolons. */
  readonly script: (text: string, millis: number, settle: Settle) => Cancel
  /** Ends the connection at once; what is under way fails with `why`. */
  readonly lose: (why: DatabaseUnavailable) => void
  /** Ends the connection politely. For one that does nothing. */
  readonly close: () => void
}

/** The part of a statement's time in which a connection must be made. */
const dialShare = 0.6
/** The server ends a statement, and a wait for a lock, a little before we would give it up: the connection then survives. */
const serverShare = 0.9
const lockShare = 0.8
/** Time that a server has to answer a good-bye. */
const farewellMillis = 500

/** Connects. `onOpen` gets the session once it can be used, or why it cannot. */
export const openSession = (
  options: SessionOptions,
  onOpen: (opened: Exit.Exit<Session, DatabaseUnavailable>) => void,
): Session => {
  const inFlight = new Set<(why: DatabaseUnavailable) => void>()
  const dialMillis = Duration.toMillis(options.deadline) * dialShare
  let dialled: Dialled | undefined
  let whyLost: DatabaseUnavailable | undefined
  let spent = false

  const lose = (why: DatabaseUnavailable): void => {
    if (whyLost !== undefined) return
    whyLost = why
    dialled?.socket.destroy()
    for (const fail of [...inFlight]) fail(why)
    options.onLost()
  }

  const client = openClient(options, {
    connect_timeout: dialMillis / 1_000,
    onclose: () => lose(unavailable("connection_lost")),
    socket: async (address: Parameters<typeof dial>[0]) => {
      if (dialled !== undefined || whyLost !== undefined) throw connectionUsed()
      try {
        dialled = await dial(address, dialMillis)
      } catch (error) {
        const failure = classify(error)
        lose(failure instanceof DatabaseUnavailable ? failure : unavailable("connection_refused"))
        throw error
      }
      if (whyLost !== undefined) dialled.socket.destroy()
      return dialled.socket
    },
  })

  const start = (query: PromiseLike<Rows>, millis: number, settle: Settle): Cancel => {
    if (whyLost !== undefined) {
      settle(Exit.fail(whyLost))
      return () => {}
    }
    let open = true
    const finish = (outcome: Parameters<Settle>[0]): void => {
      if (!open) return
      open = false
      clearTimeout(timer)
      inFlight.delete(fail)
      settle(outcome)
    }
    const fail = (why: DatabaseUnavailable): void => finish(Exit.fail(why))
    const cancel = (): void => {
      if (!open || spent) return
      spent = true
      if (dialled !== undefined) cancelBackend(dialled, query)
    }
    const expire = (): void => {
      if (!open) return
      cancel()
      lose(unavailable("timeout"))
    }
    // once more around the loop: where this process was busy, the answer may be here and not yet read
    const timer = setTimeout(() => setImmediate(expire), millis)
    inFlight.add(fail)
    query.then(
      (rows) => finish(Exit.succeed(rows)),
      (error: unknown) => {
        const failure = classify(error)
        if (!(failure instanceof DatabaseUnavailable)) return finish(Exit.die(failure))
        if (endsConnection(failure.reason)) spent = true
        finish(Exit.fail(failure))
      },
    )
    return cancel
  }

  const session: Session = {
    openedAt: performance.now(),
    isLost: () => whyLost !== undefined,
    isSpent: () => spent,
    send: (strings, values, millis, settle) => start(statementOf(client, strings, values), millis, settle),
    script: (text, millis, settle) => start(client.unsafe(text).simple(), millis, settle),
    lose,
    close: () => {
      if (whyLost !== undefined) return
      // the driver says good-bye and ends the socket; nothing waits for it
      client.end({ timeout: 0 }).catch(() => {})
      const socket = dialled?.socket
      socket?.unref()
      setTimeout(() => socket?.destroy(), farewellMillis).unref()
      dialled = undefined
      lose(unavailable("closing"))
    },
  }

  start(client`select pg_is_in_recovery() as standby`, dialMillis, (outcome) => {
    const [row] = Exit.isSuccess(outcome) ? outcome.value : []
    // a standby is no server for us: this service writes
    const standby = row !== undefined && "standby" in row && row.standby === true
    const opened = standby ? Exit.fail(unavailable("read_only")) : Exit.map(outcome, () => session)
    onOpen(opened)
    if (Exit.isFailure(opened)) lose(unavailable("connection_refused"))
  })
  return session
}

const connectionUsed = (): Error => Object.assign(new Error("This connection was used."), { code: "CONNECTION_ENDED" })

/** The driver with one connection, which we dial ourselves. */
const openClient = (options: SessionOptions, ours: object): postgres.Sql => {
  const { address, deadline, applicationName, onNotification } = options
  const millis = Duration.toMillis(deadline)
  const settings = {
    ...ours,
    max: 1,
    fetch_types: false,
    prepare: true,
    idle_timeout: 0,
    max_lifetime: null,
    types: postgresTypes,
    transform: { undefined: null },
    onnotice: () => {},
    ...(onNotification === undefined ? {} : { onnotify: onNotification }),
    connection: {
      application_name: applicationName,
      TimeZone: "UTC",
      DateStyle: "ISO",
      client_min_messages: "warning",
      statement_timeout: Math.ceil(millis * serverShare),
      lock_timeout: Math.ceil(millis * lockShare),
      // a transaction whose owner froze holds its locks no longer than this
      idle_in_transaction_session_timeout: Math.ceil(millis * 2),
    },
  }
  // the driver knows `socket`, `onnotify` and the transform of `undefined`; its types do not
  const known = { ...settings, ...address.options } as unknown as postgres.Options<
    Record<string, postgres.PostgresType<unknown>>
  >
  return address.url === undefined ? postgres(known) : postgres(address.url, known)
}

const statementOf = (
  client: postgres.Sql,
  strings: TemplateStringsArray,
  values: ReadonlyArray<SqlValue>,
): postgres.PendingQuery<Array<object>> => {
  // the driver's types know fewer values than the driver with our types does
  type Parameters = Array<postgres.SerializableParameter>
  const bind = (value: Bound) =>
    value instanceof JsonFragment
      ? client.typed(value.text as never, jsonbType)
      : Array.isArray(value)
        ? client.typed(value as never, typeFromServer)
        : value
  if (!hasFragments(values)) {
    // without fragments of SQL every value is one to send
    return client(strings, ...((values as ReadonlyArray<Bound>).map(bind) as Parameters))
  }
  const flat = flatten(strings, values)
  return client.unsafe(flat.text, flat.values.map(bind) as Parameters, { prepare: true })
}

/** Type 0 asks the server which type the statement expects. */
const typeFromServer = 0
