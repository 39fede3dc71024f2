/**
 * The host functions of a policy that may do more than answer: `http` and `kv`. Each takes the address of a JSON text in the exchange
 * and gives that of another; a request that cannot be served is an answer that says so. What they ask for is decided elsewhere: here
 * it is only checked that it is there, bounded and paid for.
 */
import { ioCalls, ioRefused, mostRequestBytes } from "#runtime/plugin-host/wasm/io-request.ts"
import { type Offer, payFor } from "#runtime/plugin-host/wasm/offer.ts"

export const ioModule = "svc:io"

/** Fuel of one call, beside what it pays by length. */
const price = 5_000

/** Ask for it in the manifest, and have it granted. */
export const ioOffers: ReadonlyArray<Offer> = ioCalls.map((name) => ({
  module: ioModule,
  name,
  params: ["i64"],
  results: ["i64"],
  price,
  implement: (host) => (given: bigint) => {
    const { exchange, io } = host.call
    const at = Number(given)
    const size = exchange.sizeOf(at)
    const answer =
      size > 0 && size <= mostRequestBytes
        ? io(name, exchange.read(at, size))
        : ioRefused("request", `A request has 1 to ${mostRequestBytes} bytes, at the beginning of a block.`)
    exchange.free(at)
    payFor(host, size + answer.length)
    return BigInt(exchange.store(answer))
  },
}))
