/** What a person reads where a log is decided otherwise. */
import type { Difference } from "#test/golden/replay.ts"

/** `-` was recorded, `+` is decided now. Of a list the rest is shown too, of anything else only what differs. */
export const describeDifference = (name: string, { line, what, state, expected, got }: Difference): string =>
  [
    `${name}, line ${line}: ${what}.`,
    ...(state === "" ? [] : [`  state: ${state}`]),
    ...marked(expected, got),
    "  If it is meant to be so, record the logs again (test/golden/README.md) and review what changed in them.",
  ].join("\n")

const marked = (expected: unknown, got: unknown): ReadonlyArray<string> => {
  const before = rowsOf(expected)
  const after = rowsOf(got)
  const gone = (row: string) => !after.includes(row)
  return [
    ...before.filter((row) => Array.isArray(expected) || gone(row)).map((row) => `  ${gone(row) ? "-" : " "} ${row}`),
    ...after.filter((row) => !before.includes(row)).map((row) => `  + ${row}`),
    ...(after.length === 0 ? ["  + nothing"] : []),
  ]
}

/** A row for each element of a list, or for each value that is somewhere in an object, with its path. */
const rowsOf = (value: unknown): ReadonlyArray<string> =>
  Array.isArray(value) ? value.map((each) => JSON.stringify(each)) : valuesIn(value, [])

const valuesIn = (value: unknown, path: ReadonlyArray<string>): ReadonlyArray<string> => {
  const isWhole = typeof value !== "object" || value === null || Object.keys(value).length === 0
  if (!isWhole) return Object.entries(value).flatMap(([name, member]) => valuesIn(member, [...path, name]))
  return [path.length === 0 ? String(value) : `${path.join(".")}: ${JSON.stringify(value)}`]
}
