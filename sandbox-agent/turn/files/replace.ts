/** Replaces one piece of a text file by another. */
import { locate } from "#sandbox-agent/turn/files/locate.ts"
import { readPlace } from "#sandbox-agent/turn/files/read.ts"
import { refuse } from "#sandbox-agent/turn/files/refused.ts"
import { applyChanges, maxWriteBytes } from "#sandbox-agent/turn/files/write.ts"

/** The piece has to be there exactly once. Gives the line that it was found at, from 1. */
export const replaceOnce = async (root: string, path: string, before: string, after: string): Promise<number> => {
  await using place = await locate(root, path)
  const { text, cut } = await readPlace(place, maxWriteBytes)
  if (cut) refuse("too_large", `${place.shown}: more than ${maxWriteBytes} bytes`)
  const at = text.indexOf(before)
  if (at < 0) refuse("failed", `${place.shown}: old_str is not found; it has to be the same to the last space`)
  const others = countOf(text, before)
  if (others > 1) {
    refuse("failed", `${place.shown}: old_str is found ${others} times; give more of the lines around it`)
  }
  const made = text.slice(0, at) + after + text.slice(at + before.length)
  await applyChanges(root, [{ kind: "write", place, text: made, how: "replace" }])
  return text.slice(0, at).split("\n").length
}

const countOf = (text: string, piece: string): number => {
  let count = 0
  for (let at = text.indexOf(piece); at >= 0; at = text.indexOf(piece, at + 1)) count += 1
  return count
}
