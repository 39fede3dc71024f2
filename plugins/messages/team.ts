/** Agents that have left the team of a project, as its `.squad/team.md` says: nobody delivers to them. */
import { constants } from "node:fs"
import { open } from "node:fs/promises"
import { join } from "node:path"
import { Duration, Effect } from "effect"

const maxFile = 1_048_576
const patience = Duration.seconds(2)

/** A file that is not there, or cannot be read, retires nobody. */
export const retiredMembers = (workingDirectory: string): Effect.Effect<ReadonlyArray<string>> =>
  Effect.tryPromise(() => read(join(workingDirectory, ".squad", "team.md"))).pipe(
    Effect.timeout(patience),
    Effect.map(retiredIn),
    Effect.orElseSucceed(() => []),
  )

const read = async (path: string): Promise<string> => {
  const handle = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK)
  try {
    const stat = await handle.stat()
    return stat.isFile() && stat.size <= maxFile ? await handle.readFile("utf8") : ""
  } finally {
    await handle.close()
  }
}

/** Rows of the members' table: `| Name | Role | Charter | Status |`. */
export const retiredIn = (text: string): ReadonlyArray<string> =>
  text.split(/\r?\n/).flatMap((line) => {
    const cells = line
      .trim()
      .replace(/^\|/, "")
      .replace(/\|$/, "")
      .split("|")
      .map((cell) => cell.trim())
    const [name, , , status] = cells
    return cells.length === 4 && name && status?.toLowerCase() === "retired" ? [name] : []
  })
