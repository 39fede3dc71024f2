/** A path as the model wrote it, taken apart. Nothing is looked up here. */
import { isAbsolute, sep } from "node:path"
import { maxPathBytes, refusedName } from "#sandbox-agent/turn/files/name.ts"
import { refuse } from "#sandbox-agent/turn/files/refused.ts"

/** For messages: one line, not too long, nothing in it that a terminal obeys. */
export const shown = (path: string): string => {
  const text = JSON.stringify(path.slice(0, 200)).replace(
    /[\u007f-\u009f\u2028\u2029\u202a-\u202e\u2066-\u2069]/gu,
    "?",
  )
  return path.length > 200 ? `${text}…` : text
}

/** Names from the root of the checkout; `..` stays in it. An absolute path has to begin with the root. */
export const namesOf = (root: string, path: string): ReadonlyArray<string> => {
  if (path === "") return refuse("forbidden", "The path is empty.")
  if (Buffer.byteLength(path) > maxPathBytes) return refuse("forbidden", `${shown(path)}: the path is too long`)
  const names = relativeTo(root, path)
    .split("/")
    .filter((name) => name !== "" && name !== ".")
  for (const name of names) checkName(name, path)
  return names
}

export const checkName = (name: string, path: string): void => {
  const reason = name === ".." ? undefined : refusedName(name)
  if (reason !== undefined) refuse("forbidden", `${shown(path)}: ${reason}`)
}

const relativeTo = (root: string, path: string): string => {
  const own = sep === "/" ? path : path.replaceAll(sep, "/")
  const base = sep === "/" ? root : root.replaceAll(sep, "/")
  if (!isAbsolute(path) && !own.startsWith("/")) return own
  if (own === base) return "."
  const below = base.endsWith("/") ? base : `${base}/`
  return own.startsWith(below) ? own.slice(below.length) : refuse("forbidden", outside(path))
}

export const outside = (path: string): string => `${shown(path)}: this is outside of the working directory`
