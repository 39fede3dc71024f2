/**
 * Ids and paths differ from one run of a scenario to the next. On a tape they have names: `⟦run⟧`, `⟦data⟧`, and
 * `⟦id:1⟧` for the first other id that a request holds. Hidden when recorded, shown again when replayed.
 */

export interface Names {
  /** Texts of the request, in their order: it numbers the ids. */
  readonly hide: (text: string) => string
  /** Texts of the answer: ids that the request does not hold are the model's own, and stay. */
  readonly hideKnown: (text: string) => string
  readonly show: (text: string) => string
}

const uuid = "[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
/** The folder of a repository's checkouts: a digest of where the repository lies. */
const repository = "(?<=/git/)[0-9a-f]{32}(?=/runs/)"
const mark = /⟦([^⟦⟧]*)⟧/g
/** Stands for the character that begins a name. */
const literal = "("

const escaped = (text: string): string => text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")

/** `fixed` are texts by their names; where one holds another the longer one counts. */
export const makeNames = (fixed: Readonly<Record<string, string>>): Names => {
  const known = new Map(Object.entries(fixed).flatMap(([name, text]) => (text === "" ? [] : [[text, name] as const])))
  const values = new Map([...known].map(([text, name]) => [name, text]))
  const longest = [...known.keys()].sort((a, b) => b.length - a.length).map(escaped)
  const form = new RegExp([...longest, uuid, repository, "⟦"].join("|"), "g")
  let ids = 0

  const named = (found: string): string | undefined => (found === "⟦" ? literal : known.get(found))
  const numbered = (found: string): string => {
    const name = `id:${++ids}`
    known.set(found, name)
    values.set(name, found)
    return name
  }
  return {
    hide: (text) => text.replace(form, (found) => `⟦${named(found) ?? numbered(found)}⟧`),
    hideKnown: (text) =>
      text.replace(form, (found) => {
        const name = named(found)
        return name === undefined ? found : `⟦${name}⟧`
      }),
    show: (text) => text.replace(mark, (whole, name: string) => (name === literal ? "⟦" : (values.get(name) ?? whole))),
  }
}

/** Every text in a value, at any depth; names of members stay as they are. */
export const mapTexts = (value: unknown, change: (text: string) => string): unknown => {
  if (typeof value === "string") return change(value)
  if (Array.isArray(value)) return value.map((entry) => mapTexts(entry, change))
  if (typeof value !== "object" || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, mapTexts(member, change)]))
}
