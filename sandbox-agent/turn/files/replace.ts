/** Replaces one piece of a text file by another. */
import { placesOf } from "#sandbox-agent/turn/files/find-text.ts"
import { locate } from "#sandbox-agent/turn/files/locate.ts"
import { readPlace } from "#sandbox-agent/turn/files/read.ts"
import { refuse } from "#sandbox-agent/turn/files/refused.ts"
import { applyChanges, maxWriteBytes } from "#sandbox-agent/turn/files/write.ts"

/** Places that are counted. */
const maxPlaces = 100

/** The piece has to be there exactly once. Gives the line that it was found at, from 1. */
export const replaceOnce = async (root: string, path: string, before: string, after: string): Promise<number> => {
  await using place = await locate(root, path)
  const { text, cut } = await readPlace(place, maxWriteBytes)
  if (cut) refuse("too_large", `${place.shown}: more than ${maxWriteBytes} bytes`)
  const places = placesOf(text, before, maxPlaces)
  const [at] = places
  if (at === undefined) {
    return refuse("failed", `${place.shown}: old_str is not found; it has to be the same to the last space`)
  }
  if (places.length > 1) {
    const times = places.length === maxPlaces ? `${maxPlaces} times or more` : `${places.length} times`
    refuse("failed", `${place.shown}: old_str is found ${times}; give more of the lines around it`)
  }
  const made = text.slice(0, at) + after + text.slice(at + before.length)
  await applyChanges(root, [{ kind: "write", place, text: made, how: "replace" }])
  return text.slice(0, at).split("\n").length
}
