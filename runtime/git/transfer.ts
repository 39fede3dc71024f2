/** Takes objects from one git directory to another; each is checked where it arrives. */
import { Effect } from "effect"
import type { CheckoutFailed } from "#core/ports/checkouts.ts"
import { failed } from "#runtime/git/failed.ts"
import { longPatience, maxPackBytes } from "#runtime/git/limits.ts"
import type { Origin } from "#runtime/git/origin.ts"
import { type GitOutput, gitIn, type Owner } from "#runtime/git/program.ts"

/** What the commits `wanted` need beyond `known`. Fails with `invalid` where an object is missing. */
export const packOf = Effect.fnUntraced(function* (
  gitDir: string,
  wanted: ReadonlyArray<string>,
  known: ReadonlyArray<string>,
): Effect.fn.Return<Uint8Array, CheckoutFailed> {
  const packed = yield* gitIn({
    gitDir,
    args: ["pack-objects", "--revs", "--stdout", "--delta-base-offset", "--quiet"],
    stdin: `${[...wanted, ...known.map((commit) => `^${commit}`)].join("\n")}\n`,
    maxOutput: maxPackBytes,
    timeout: longPatience,
  })
  if (packed.code === 0) return packed.stdout
  if (packed.truncated) return yield* failed("too_large", `The commits bring more than ${maxPackBytes} bytes.`)
  if (packed.timedOut) return yield* failed("unavailable", "The commits could not be packed in time.")
  return yield* failed("invalid", "Objects of the commits are missing.")
})

/** How `unpack-objects` and `index-pack` say what they do not take. */
export const refusedObjects = ({ complaint }: GitOutput): CheckoutFailed => {
  const [, reason] = /^error: object [0-9a-f]+: (\w+):/m.exec(complaint) ?? []
  return reason === undefined
    ? failed("unavailable", "The commits could not be written into the repository.")
    : failed("invalid", `Git refuses what is in the commits (${reason}).`)
}

/**
 * Brings the commits `wanted`, and what they need beyond `known`, from our git directory into the repository:
 * all of it, or nothing where git refuses some.
 */
export const publishObjects = Effect.fnUntraced(function* (
  origin: Origin,
  gitDir: string,
  wanted: ReadonlyArray<string>,
  known: ReadonlyArray<string>,
) {
  const pack = yield* packOf(gitDir, wanted, known)
  // first where they are already: there it only looks, and what it refuses never gets to the user
  yield* unpack(gitDir, pack)
  yield* unpack(origin.gitDir, pack, origin.owner)
})

const unpack = Effect.fnUntraced(function* (gitDir: string, pack: Uint8Array, owner?: Owner) {
  const args = ["unpack-objects", "--strict", "-q"]
  const unpacked = yield* gitIn({ gitDir, args, stdin: pack, timeout: longPatience, owner })
  if (unpacked.code !== 0) return yield* refusedObjects(unpacked)
})
