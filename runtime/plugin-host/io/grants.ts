/** What the module of a package may import: what every policy may, and what its manifest asks for. Pure. */
import type { Permissions } from "#runtime/plugin-host/packages/permissions.ts"
import { policyGrants } from "#runtime/plugin-host/wasm/extism-abi.ts"
import type { Grants } from "#runtime/plugin-host/wasm/grants.ts"
import { ioOffers } from "#runtime/plugin-host/wasm/io-abi.ts"
import type { IoCall } from "#runtime/plugin-host/wasm/io-request.ts"
import { grantOf } from "#runtime/plugin-host/wasm/offer.ts"

type IoPermissions = Pick<Permissions, "net" | "kv">

/** Of the two, those that it asks for. */
export const ioCallsOf = ({ net, kv }: IoPermissions): ReadonlyArray<IoCall> => [
  ...(net.length > 0 ? (["http"] as const) : []),
  ...(kv ? (["kv"] as const) : []),
]

/** A module that imports more is refused, with the name of what it imports. */
export const grantsFor = (permissions: IoPermissions): Grants => {
  const calls: ReadonlyArray<string> = ioCallsOf(permissions)
  return [...policyGrants, ...ioOffers.filter(({ name }) => calls.includes(name)).map(grantOf)]
}
