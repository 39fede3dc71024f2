/** From a host to the addresses that may be connected to. Asked once for each request: what is connected to is what was checked. */
import { lookup } from "node:dns/promises"
import { Effect } from "effect"
import { isPublic, normalAddress } from "#runtime/outgoing/address.ts"
import { failed, type OutgoingFailed, type OutgoingRefused, refuse } from "#runtime/outgoing/refused.ts"
import type { Target } from "#runtime/outgoing/target.ts"

/** All addresses of a name. Fails for any reason where there are none. */
export type Resolver = (host: string) => Promise<ReadonlyArray<string>>

/** The system's lookups take the few threads that files are read by as well, until they end, also when nobody waits any more. */
const lookupsAtOnce = 2
const lookupsWaiting = 100

export const systemResolver: Resolver = limited(lookupsAtOnce, lookupsWaiting, async (host) =>
  (await lookup(host, { all: true })).map(({ address }) => address),
)

/** An address that is not public, and may be called all the same. */
export interface Permitted {
  readonly address: string
  readonly port: number
}

/** Never empty. A name that also has addresses which are not public is reached by the public ones only. */
export const addressesOf = Effect.fnUntraced(function* (
  { host, port, isAddress }: Target,
  resolver: Resolver,
  permitted: ReadonlyArray<Permitted>,
): Effect.fn.Return<ReadonlyArray<string>, OutgoingFailed | OutgoingRefused> {
  const found = isAddress
    ? [host]
    : yield* Effect.tryPromise({
        try: () => resolver(host),
        catch: () => failed("name_not_found", `The name ${host} cannot be resolved.`),
      })
  if (found.length === 0) return yield* failed("name_not_found", `The name ${host} has no address.`)
  const normal = found.flatMap((address) => normalAddress(address) ?? [])
  const mayBe = (address: string) =>
    isPublic(address) || permitted.some((each) => each.port === port && normalAddress(each.address) === address)
  const allowed = [...new Set(normal.filter(mayBe))]
  if (allowed.length > 0) return allowed
  return yield* refuse("address", `${host} is not a public address, nor a name of one.`)
})

/** So many at once; so many others wait for one to end, and one more fails. */
export function limited(most: number, mostWaiting: number, resolver: Resolver): Resolver {
  const waiting: Array<() => void> = []
  let running = 0
  return async (host) => {
    if (waiting.length >= mostWaiting) throw new Error("too many names are being resolved")
    if (running >= most) await new Promise<void>((begin) => waiting.push(begin))
    else running++
    try {
      return await resolver(host)
    } finally {
      const next = waiting.shift()
      if (next === undefined) running--
      else next()
    }
  }
}
