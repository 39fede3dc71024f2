/** Finds the name that was probably meant. */
import { distance } from "fastest-levenshtein"
import { pathText, type Section, type Shape, settingsShape } from "#runtime/settings/shape.ts"

/** Letters that may differ: two (one exchange) or a third; names further away are not what was meant. */
const mayDiffer = (length: number): number => (length < 4 ? 1 : Math.max(2, Math.floor(length / 3)))

const meant = (written: string, name: string): number | undefined => {
  const far = distance(written.toLowerCase(), name.toLowerCase())
  return far <= mayDiffer(Math.max(written.length, name.length)) ? far : undefined
}

const nearest = (written: string, names: Iterable<string>): string | undefined => {
  let best: { readonly name: string; readonly far: number } | undefined
  for (const name of names) {
    const far = meant(written, name)
    if (far !== undefined && (best === undefined || far < best.far)) best = { name, far }
  }
  return best?.name
}

/** Every key with its whole path, so that a key in the wrong section is found as well. */
const everyKey = (shape: Shape, path: ReadonlyArray<string>): ReadonlyArray<readonly [key: string, path: string]> =>
  shape.kind === "section"
    ? [...shape.keys].flatMap(([key, inner]) => [
        [key, pathText([...path, key])] as const,
        ...everyKey(inner, [...path, key]),
      ])
    : []

/** ` Did you mean …?`, or nothing. `section` is where the name was written, `path` the path of that section. */
export const suggestion = (written: string, section: Section, path: ReadonlyArray<string | number>): string => {
  const sibling = nearest(written, section.keys.keys())
  if (sibling !== undefined) return ` Did you mean ${pathText([...path, sibling])}?`
  const elsewhere = everyKey(settingsShape, []).find(([key]) => key.toLowerCase() === written.toLowerCase())
  return elsewhere === undefined ? "" : ` Did you mean ${elsewhere[1]}?`
}
