/** One life of a service, for tests that end it from outside: `node crash-of-test.ts DATA WHAT JSON`. */
import { Effect } from "effect"
import { Checkouts } from "#core/ports/checkouts.ts"
import { checkoutsIn } from "#runtime/git/repository-of-test.ts"

const [data = "", what, json = "{}"] = process.argv.slice(2)
const input = JSON.parse(json)
const work = Effect.flatMap(Checkouts, (checkouts) => {
  switch (what) {
    case "prepare":
      return Effect.asVoid(checkouts.prepare(input))
    case "commit":
      return Effect.flatMap(checkouts.open(input), (checkout) =>
        Effect.asVoid(checkouts.commit(checkout, "work", input.author)),
      )
    default:
      return Effect.asVoid(checkouts.merge(input))
  }
})
await Effect.runPromise(work.pipe(Effect.provide(checkoutsIn(data))))
