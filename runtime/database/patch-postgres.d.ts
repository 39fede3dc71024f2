/** Types of patch-postgres.js. */
export const original: string
export const repaired: string
export const repairs: ReadonlyArray<readonly [from: string, to: string]>
export const connectionFile: () => string
export const stateOf: (file?: string) => "original" | "repaired" | "unknown"
export const repair: (file?: string) => void
