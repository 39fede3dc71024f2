/** Finds files by their names. */
import { listFiles } from "#sandbox-agent/turn/search/list.ts"
import { pathTest } from "#sandbox-agent/turn/search/pattern.ts"

export interface Found {
  readonly lines: ReadonlyArray<string>
  /** Why there may be more. */
  readonly cut: string | undefined
}

export const fileSearch = async (root: string, glob: string, limit: number, signal: AbortSignal): Promise<Found> => {
  const matches = pathTest(glob)
  const listing = listFiles(root, signal)
  const lines: Array<string> = []
  for await (const { path } of listing.files) {
    if (!matches(path)) continue
    if (lines.length === limit) return { lines, cut: `only the first ${limit} are shown` }
    lines.push(path)
  }
  return { lines, cut: listing.cut() }
}
