/** What can go wrong while a module runs, as values. */

export const faultReasons = [
  /** The fuel of the call is used up. Deterministic. */
  "out_of_fuel",
  /** It trapped after its memory could not grow. Deterministic. */
  "out_of_memory",
  /** The stack budget is used up: recursion too deep. Deterministic. */
  "stack_exhausted",
  /** The thread's stack ended before the budget. Never expected; depends on the engine. */
  "stack_overflow",
  "unreachable",
  "memory_out_of_bounds",
  "table_out_of_bounds",
  "integer_divide_by_zero",
  "integer_overflow",
  "invalid_conversion",
  /** `call_indirect` of nothing, or of a function of another type. */
  "indirect_call",
  /** A trap of another kind. */
  "trap",
  /** A host function failed, or ended the call: what it refused is in the message. */
  "host_error",
  /** The module gave up by its own `abort`. */
  "aborted",
  /** More was allocated in the memory shared with the host than is allowed. */
  "exchange_exhausted",
  "answer_too_large",
  /** The module cannot be instantiated: memory of the machine, an import, a segment out of bounds. */
  "instantiation",
  /** There is no such exported function, or its parameters are others. */
  "no_such_function",
] as const
export type FaultReason = (typeof faultReasons)[number]

export interface Fault {
  readonly reason: FaultReason
  readonly message: string
}

/** Thrown by a host function to end the call it is in. A module cannot catch it: exceptions are not admitted. */
export class HostFault extends Error {
  override readonly name = "HostFault"
  readonly reason: FaultReason

  constructor(reason: FaultReason, message: string) {
    super(message)
    this.reason = reason
  }
}

/** Beginnings of the engine's messages. The reasons that matter for safety do not depend on them. */
const traps: ReadonlyArray<readonly [RegExp, FaultReason]> = [
  [/^unreachable/, "unreachable"],
  [/^memory access out of bounds|^data segment/, "memory_out_of_bounds"],
  [/^table (index|access)|^element segment/, "table_out_of_bounds"],
  [/^(divide|remainder) by zero/, "integer_divide_by_zero"],
  [/^divide result unrepresentable/, "integer_overflow"],
  [/^float unrepresentable/, "invalid_conversion"],
  [/^null function|signature mismatch|^indirect call/, "indirect_call"],
]

/** What was thrown out of a module: by itself, by the engine, or by a host function. */
export const faultOf = (thrown: unknown): Fault => {
  if (thrown instanceof HostFault) return { reason: thrown.reason, message: thrown.message }
  if (thrown instanceof WebAssembly.RuntimeError) {
    const known = traps.find(([beginning]) => beginning.test(thrown.message))
    return { reason: known?.[1] ?? "trap", message: thrown.message }
  }
  if (thrown instanceof RangeError && thrown.message.startsWith("Maximum call stack"))
    return { reason: "stack_overflow", message: "the stack of the thread ended before the budget of the call" }
  return { reason: "host_error", message: `a host function failed: ${String(thrown)}` }
}
