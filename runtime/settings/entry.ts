/** One value as it was written somewhere, before it is decoded. */
import type { Source } from "#runtime/settings/problem.ts"
import { type Path, pathText, type Value } from "#runtime/settings/shape.ts"

export interface Entry {
  readonly path: Path
  /** A single value, or `[]` for a list that starts anew: entries of a weaker source are forgotten. */
  readonly value: string | number | boolean | readonly []
  readonly source: Source
}

const flags: ReadonlyMap<string, boolean> = new Map([
  ...["true", "yes", "on", "1"].map((word) => [word, true] as const),
  ...["false", "no", "off", "0"].map((word) => [word, false] as const),
])

const decimalForm = /^[+-]?(?:\d+(?:\.\d+)?|\.\d+)(?:e[+-]?\d+)?$/i

/** A text that came from a variable, as the type that the setting has; as it is where it has no such form. */
export const coerce = (text: string, type: Value["type"]): string | number | boolean => {
  switch (type) {
    case "text":
      return text
    case "number":
      return decimalForm.test(text.trim()) ? Number(text) : text
    case "flag":
      return flags.get(text.trim().toLowerCase()) ?? text
  }
}

/** Later entries win over earlier ones of the same path. */
export const merge = (entries: ReadonlyArray<Entry>): ReadonlyMap<string, Entry> => {
  const merged = new Map<string, Entry>()
  for (const entry of entries) {
    const key = pathText(entry.path)
    if (Array.isArray(entry.value)) {
      for (const known of [...merged.keys()]) if (known.startsWith(`${key}:`)) merged.delete(known)
    }
    merged.set(key, entry)
  }
  return merged
}
