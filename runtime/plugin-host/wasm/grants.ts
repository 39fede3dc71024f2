/** What a module may import: functions, by name and signature, and nothing else. */
import type { FunctionType } from "#runtime/plugin-host/wasm/value-type.ts"

export interface Grant extends FunctionType {
  readonly module: string
  readonly name: string
  /** Fuel per call; `price.hostCall` where it is not given. */
  readonly price?: number
}

export type Grants = ReadonlyArray<Grant>

/** Names that begin with this are the host's own: no module may export one. */
export const reservedPrefix = "svc:"

/** The exports that the rewriting adds. */
export const reserved = {
  /** `(mut i64)`: fuel left, below zero when it ran out. */
  fuel: "svc:fuel",
  /** `(mut i32)`: bytes of accounted stack left, below zero when it ran out. */
  stack: "svc:stack",
  /** `(mut i32)`: 1 when the memory was refused to grow. */
  growthRefused: "svc:growth-refused",
  /** The memory, where there is one. */
  memory: "svc:memory",
  /** Followed by its index: a mutable global of the module, so that it can be set back. */
  global: "svc:global:",
  /** The start function, where there is one: called by the host, with fuel, instead of on instantiation. */
  start: "svc:start",
} as const
