/** Asks every route as nobody, with everything else wrong too: the answer must be 401 and nothing more. */
import { Effect } from "effect"
import type { Route } from "#core/route.ts"
import type { Gateway } from "#gateway/app.ts"
import { ask, short, unknown } from "#test/support/gateway.ts"

/** What fills the parameters of a path: an id of nothing, and what is no id at all. */
const fillings = [unknown, "0", "%2e%2e"]

/** The requests that told a stranger more than 401; empty where none did. */
export const toldToStrangers = (app: Gateway, routes: ReadonlyArray<Route>): Effect.Effect<ReadonlyArray<string>> =>
  Effect.gen(function* () {
    const told: Array<string> = []
    for (const { method, path, access } of routes) {
      if (access.kind === "public") continue
      for (const filling of fillings) {
        const what = `${method} ${path.replaceAll(/\{[^}]+\}/g, filling)}?unknown=1&unknown=2`
        const wrong = method === "GET" ? {} : { body: "{", headers: { "content-type": "text/plain" } }
        const answer = short(yield* ask(app, what, wrong))
        if (answer !== "401 unauthorized") told.push(`${what}: ${answer}`)
      }
    }
    return told
  })
