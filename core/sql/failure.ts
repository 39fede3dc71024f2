/**
 * What can go wrong with a statement: the database does not answer (`DatabaseUnavailable`, expected),
 * or the statement is itself wrong (`StatementRefused`, a defect). Neither carries the statement, its
 * parameters, an address or a path.
 */
import { Data, Schema } from "effect"

/** The database does not answer: gone, restarting, failing over, out of connections, or too slow. */
export class DatabaseUnavailable extends Schema.TaggedError<DatabaseUnavailable>()("DatabaseUnavailable", {
  /** What was seen: `connection_lost`, `connection_refused`, `timeout`, `lock_timeout`, `overloaded`, `read_only`, `disk_full`, `closing`, or a SQLSTATE such as `57P01`. */
  reason: Schema.String,
  message: Schema.String,
}) {}

/** A statement that the database refused: a constraint, a missing column, a value of the wrong type. */
export class StatementRefused extends Data.TaggedError("StatementRefused")<{
  /** SQLSTATE: five characters. */
  readonly code: string
  readonly constraint: string | undefined
  readonly message: string
}> {}

const messages: Readonly<Record<string, string>> = {
  connection_lost: "The connection to the database was lost.",
  connection_refused: "The database does not accept connections.",
  timeout: "The database did not answer in time.",
  overloaded: "More statements wait for a database connection than may wait.",
  lock_timeout: "What the statement needs is held by another one for too long.",
  read_only: "The database is read only.",
  disk_full: "The database has no disk space left.",
  closing: "The service is stopping.",
}

export const unavailable = (reason: string): DatabaseUnavailable =>
  new DatabaseUnavailable({ reason, message: messages[reason] ?? `The database is not available (${reason}).` })

/** SQLSTATEs that have a name of their own. */
const reasons: Readonly<Record<string, string>> = {
  "25006": "read_only",
  "25P03": "timeout",
  "53100": "disk_full",
  "55P03": "lock_timeout",
  "57014": "timeout",
}

/**
 * SQLSTATE classes that speak of the server and not of the statement: connections (08), logins and
 * database names (28, 3D), resources (53), operators and shutdowns (57), system errors (58).
 */
const serverClasses: ReadonlySet<string> = new Set(["08", "28", "3D", "53", "57", "58"])

/** A transaction that the database chose to end: serialization failure, deadlock. */
export const isVictim = (reason: string): boolean => reason === "40001" || reason === "40P01"

/** The connection answers, but only another one can do the work: do not use it again. */
export const endsConnection = (reason: string): boolean => reason === "read_only" || reason.startsWith("57P")

/** Codes of the driver for a statement that could not be sent at all. */
const misuse: ReadonlySet<string> = new Set([
  "COPY_IN_PROGRESS",
  "MAX_PARAMETERS_EXCEEDED",
  "NOT_TAGGED_CALL",
  "UNDEFINED_VALUE",
  "UNSAFE_TRANSACTION",
])

/** What an error of the driver means. Anything else than an absent server or a refusal is a defect. */
export const classify = (error: unknown): DatabaseUnavailable | StatementRefused | Error => {
  const code = error instanceof Error ? textField(error, "code") : undefined
  if (!(error instanceof Error) || code === undefined || misuse.has(code) || error instanceof TypeError) {
    return new Error(`A statement could not be sent or its answer not be read (${code ?? nameOf(error)}).`)
  }
  if (error.name !== "PostgresError") {
    return unavailable(unreachable.has(code) ? "connection_refused" : "connection_lost")
  }
  const named = reasons[code]
  if (named !== undefined) return unavailable(named)
  if (serverClasses.has(code.slice(0, 2)) || isVictim(code)) return unavailable(code)
  return new StatementRefused({ code, constraint: textField(error, "constraint_name"), message: refusal(error, code) })
}

const nameOf = (error: unknown): string => (error instanceof Error ? error.name : typeof error)

const unreachable: ReadonlySet<string> = new Set(["ECONNREFUSED", "ENOENT", "ENOTFOUND", "EHOSTUNREACH", "ENETUNREACH"])

/** The server's own words where they name only tables and columns (class 42); elsewhere they may quote values. */
const refusal = (error: Error, code: string): string => {
  if (code.startsWith("42")) return `The database refused a statement (${code}): ${error.message}`
  const place = [
    ["constraint", textField(error, "constraint_name")],
    ["table", textField(error, "table_name")],
    ["column", textField(error, "column_name")],
  ].flatMap(([kind, name]) => (name === undefined ? [] : [`, ${kind} ${name}`]))
  return `The database refused a statement (${code}${place.join("")}).`
}

const textField = (error: Error, name: string): string | undefined => {
  const value: unknown = Reflect.get(error, name)
  return typeof value === "string" && value !== "" ? value : undefined
}
