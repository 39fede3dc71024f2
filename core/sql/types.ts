/**
 * How values of PostgreSQL are read and written: `bigint` as a number, dates and times as text
 * (`timestamptz` as ISO 8601 in UTC with milliseconds, cut and not rounded), JSON text as JSON text.
 *
 * The array types are listed here, so that a new connection need not ask the server for them.
 */
import type { PostgresType } from "postgres"

const oid = {
  bigint: 20,
  json: 114,
  jsonb: 3802,
  date: 1082,
  timestamp: 1114,
  timestamptz: 1184,
} as const

/** Element type → array type. */
const arrays = {
  boolean: [16, 1000],
  smallint: [21, 1005],
  integer: [23, 1007],
  bigint: [20, 1016],
  text: [25, 1009],
  varchar: [1043, 1015],
  real: [700, 1021],
  double: [701, 1022],
  numeric: [1700, 1231],
  uuid: [2950, 2951],
  timestamptz: [1184, 1185],
  json: [114, 199],
  jsonb: [3802, 3807],
} as const

/** For a parameter that is JSON text. */
export const jsonbType = oid.jsonb

/** `2026-11-21 12:00:00.123456+00` → `2026-11-21T12:00:00.123Z`. The session's time zone is UTC. */
export const readTimestamp = (text: string): string => {
  if (text.length < 22 || text[10] !== " " || !text.endsWith("+00")) return text
  const fraction = text[19] === "." ? text.slice(20, -3) : ""
  return `${text.slice(0, 10)}T${text.slice(11, 19)}.${fraction.padEnd(3, "0").slice(0, 3)}Z`
}

const writeTimestamp = (value: unknown): string => (value instanceof Date ? value.toISOString() : String(value))

/** A string is JSON text already: `sql.json` made it so, or the caller holds stored text. */
const writeJson = (value: unknown): string => (typeof value === "string" ? value : JSON.stringify(value))

const type = (
  id: number,
  parse: (text: string) => unknown,
  serialize: (value: unknown) => string,
): PostgresType<unknown> => ({ to: id, from: [id], parse, serialize })

const asIs = (text: string): string => text
const readers: Readonly<Record<number, (text: string) => unknown>> = {
  16: (text) => text === "t",
  20: Number,
  21: Number,
  23: Number,
  700: Number,
  701: Number,
  [oid.timestamptz]: readTimestamp,
  [oid.json]: JSON.parse,
  [oid.jsonb]: JSON.parse,
}

const arrayTypes = Object.entries(arrays).map(([name, [element, array]]) => {
  const read = readers[element] ?? asIs
  return [`${name}_array`, type(array, (text) => readArray(text, read), writeArray)] as const
})

/** For the driver's `types` option. */
export const postgresTypes: Readonly<Record<string, PostgresType<unknown>>> = {
  bigint: type(oid.bigint, Number, String),
  json: type(oid.json, JSON.parse, writeJson),
  jsonb: type(oid.jsonb, JSON.parse, writeJson),
  date: type(oid.date, asIs, writeTimestamp),
  timestamp: type(oid.timestamp, asIs, writeTimestamp),
  timestamptz: type(oid.timestamptz, readTimestamp, writeTimestamp),
  ...Object.fromEntries(arrayTypes),
}

/** An array of one dimension, as PostgreSQL writes arrays: `{a,"b c",NULL}`. */
export function writeArray(value: unknown): string {
  if (!Array.isArray(value)) return String(value)
  const elements: ReadonlyArray<unknown> = value
  let text = "{"
  for (let i = 0; i < elements.length; i++) {
    const element = elements[i]
    if (i > 0) text += ","
    if (element === null || element === undefined) text += "NULL"
    else if (typeof element === "string") text += quote(element)
    else text += String(element)
  }
  return `${text}}`
}

const special = /[\\"]/
const quote = (text: string): string => (special.test(text) ? `"${text.replace(/[\\"]/g, "\\$&")}"` : `"${text}"`)

/** Reads arrays of one dimension; deeper ones come back as text of their elements. */
export function readArray(text: string, read: (text: string) => unknown): ReadonlyArray<unknown> {
  const elements: Array<unknown> = []
  let i = 1
  while (i < text.length - 1) {
    if (text[i] === '"') {
      const start = ++i
      while (text[i] !== '"') i += text[i] === "\\" ? 2 : 1
      elements.push(read(text.slice(start, i).replace(/\\(.)/gs, "$1")))
      i += 2
    } else {
      const end = text.indexOf(",", i)
      const element = text.slice(i, end < 0 ? text.length - 1 : end)
      elements.push(element === "NULL" ? null : read(element))
      i += element.length + 1
    }
  }
  return elements
}
