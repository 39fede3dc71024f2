/** How a host function is offered to policies: its name and signature, its price, and what it does for the call that is running. */
import type { Grant } from "#runtime/plugin-host/wasm/grants.ts"
import type { HostFunction, Instance } from "#runtime/plugin-host/wasm/instance.ts"
import type { PolicyCall } from "#runtime/plugin-host/wasm/policy-call.ts"

/** What the functions of one instance work on. */
export interface PolicyHost {
  /** The call that is running. */
  call: PolicyCall
  /** Set once the instance exists: before any function of the module runs. */
  instance: Instance | undefined
}

export interface Offer extends Grant {
  readonly implement: (host: PolicyHost) => HostFunction
}

/** Units for every `bytesPerUnit` bytes copied or decoded. */
const bytesPerUnit = 2

export const payFor = (host: PolicyHost, bytes: number): void => host.instance?.charge(Math.ceil(bytes / bytesPerUnit))

export const grantOf = ({ implement: _, ...grant }: Offer): Grant => grant
