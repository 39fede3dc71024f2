/** How large a commit is, before anything of it is written: a few objects can name more files than any disk has. */
import { Effect } from "effect"
import { failed } from "#runtime/git/failed.ts"
import { maxEntries, maxPathBytes, maxTreeBytes } from "#runtime/git/limits.ts"
import { gitIn } from "#runtime/git/program.ts"

const tab = 9
const zero = 48

/** Fails with `too_large` where the commit has too many files. `gitDir` must see the objects. */
export const checkCount = Effect.fn("Checkouts.checkCount")(function* (gitDir: string, commit: string) {
  let entries = 0
  // this command prints what it finds at once; one that compares trees would first collect all of it
  const listed = yield* gitIn({
    gitDir,
    args: ["ls-tree", "-r", "-z", "--name-only", "--full-tree", "--end-of-options", commit],
    onOutput: (chunk) => {
      for (let at = chunk.indexOf(0); at >= 0; at = chunk.indexOf(0, at + 1)) entries += 1
      return entries <= maxEntries
    },
  })
  if (listed.truncated || listed.timedOut)
    return yield* failed("too_large", `The commit has more than ${maxEntries} files.`)
  // a tree that is nested too deeply ends the program
  if (listed.code !== 0) return yield* failed("invalid", "The files of the commit cannot be read.")
})

/** The same, and where the files have too many bytes together; each costs some microseconds. Gives how large it is. */
export const checkSize = Effect.fn("Checkouts.checkSize")(function* (gitDir: string, commit: string) {
  yield* checkCount(gitDir, commit)
  let files = 0
  let bytes = 0
  let rest: Buffer = Buffer.alloc(0)
  const listed = yield* gitIn({
    gitDir,
    args: ["ls-tree", "-r", "-l", "-z", "--full-tree", "--end-of-options", commit],
    onOutput: (part) => {
      const chunk = rest.length === 0 ? part : Buffer.concat([rest, part])
      let from = 0
      for (let end = chunk.indexOf(0); end >= 0; end = chunk.indexOf(0, from)) {
        files += 1
        bytes += sizeOf(chunk, from)
        from = end + 1
      }
      rest = chunk.subarray(from)
      return bytes <= maxTreeBytes && rest.length <= 2 * maxPathBytes
    },
  })
  if (listed.truncated) {
    return yield* failed("too_large", `The commit has more than ${maxTreeBytes} bytes, or too long a path.`)
  }
  if (listed.timedOut) return yield* failed("too_large", "The files of the commit could not be measured in time.")
  if (listed.code !== 0) return yield* failed("invalid", "The files of the commit cannot be read.")
  return { files, bytes }
})

/** An entry is mode, type, id, size (`-` for a commit), a tab and the path: the digits before the tab count. */
const sizeOf = (chunk: Buffer, from: number): number => {
  let size = 0
  let unit = 1
  for (let at = chunk.indexOf(tab, from) - 1; at > from; at--) {
    const digit = (chunk[at] ?? 0) - zero
    if (digit < 0 || digit > 9) break
    size += digit * unit
    unit *= 10
  }
  return size
}
