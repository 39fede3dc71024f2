/** What a search has in common with the other: its time, and how its answer reads. */
import type { Found } from "#sandbox-agent/turn/search/file-search.ts"

/** Milliseconds that one search may take. */
const searchMillis = 10_000

export const searchTime = (): AbortSignal => AbortSignal.timeout(searchMillis)

export const foundText = ({ lines, cut }: Found, nothing: string): string =>
  [...(lines.length === 0 ? [nothing] : lines), ...(cut === undefined ? [] : [`… [${cut}]`])].join("\n")
