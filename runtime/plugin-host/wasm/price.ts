/**
 * What execution costs, in units of fuel. A unit is about one addition; prices are chosen so that no
 * instruction takes much longer per unit than another, because fuel is what bounds the time a policy may block its thread
 * (measured on x64 with the loops of hostile.test.ts: 0.01 to 2.3 ns per unit, most below 0.6).
 *
 * Prices are part of what a receipt says: changing one changes the fuel of every decision, and with it the
 * metering version.
 */

/** Raised whenever the same module and input could consume another amount of fuel. */
export const meteringVersion = 1

export const price = {
  /** A load or a store, which may miss every cache. */
  memory: 2,
  /** Division, remainder, square root, rounding, float to integer. */
  division: 4,
  /** A SIMD computation. */
  vector: 2,
  branch: 1,
  branchTable: 2,
  call: 3,
  callIndirect: 6,
  /** On entry, for every `localsPerUnit` declared locals, which are set to zero. */
  localsPerUnit: 4,
  /** `memory.fill`, `memory.copy`, `memory.init`, before their length. */
  bulk: 100,
  /** Bytes of a bulk memory operation per unit, as a power of two. */
  bulkBytesShift: 3,
  /** `table.get`, `table.set`. */
  tableElement: 8,
  /** Per element of a bulk table operation. */
  tableBulkElement: 16,
  /** `memory.grow` and `table.grow`, before their length. */
  grow: 2_000,
  /** Per page grown: 64 KiB that the system has to clear. */
  growPage: 1_024,
  /** An imported function, where the grant says no other price. */
  hostCall: 100,
} as const
