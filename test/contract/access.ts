/**
 * Who may call what, as the interface says it, held against routes that are mounted. `access.json` is the
 * table; a mounted route that it does not know is a problem too, so that none slips in unseen.
 */
import { Schema } from "effect"
import type { Access, Route } from "#core/route.ts"
import table from "./access.json" with { type: "json" }

const Row = Schema.Struct({
  method: Schema.String,
  path: Schema.String,
  access: Schema.String,
  hidesExistence: Schema.optionalKey(Schema.Boolean),
})
type Row = typeof Row.Type

const rows: ReadonlyArray<Row> = Schema.decodeSync(Schema.Array(Row))(table)

/** Names of parameters do not matter: `{id}` and `{runId}` are the same place. */
const place = (method: string, path: string): string => `${method} ${path.replaceAll(/\{(\*\*)?\w+\}/g, "{$1}")}`

const byPlace = new Map(rows.map((row) => [place(row.method, row.path), row]))

/** What differs between the access of `routes` and the table; empty where nothing does. */
export const accessDifferences = (routes: ReadonlyArray<Route>): ReadonlyArray<string> =>
  routes.flatMap((route) => {
    const name = `${route.method} ${route.path}`
    const row = byPlace.get(place(route.method, route.path))
    if (row === undefined) return [`${name}: test/contract/access.json does not know this route`]
    const declared = inWords(route.access)
    const hides = route.access.kind === "run" && route.access.hidesExistence
    return [
      ...(declared === row.access ? [] : [`${name}: the table says ${row.access}, the route ${declared}`]),
      ...(hides === (row.hidesExistence ?? false) ? [] : [`${name}: hidesExistence is ${hides}`]),
    ]
  })

const inWords = (access: Access): string => {
  switch (access.kind) {
    case "run":
      return access.internal ? `${access.role}-or-internal` : access.role
    case "project":
      return access.role
    case "run-capability":
    case "public":
    case "authenticated":
    case "human":
    case "platform-admin":
      return access.kind
  }
}
