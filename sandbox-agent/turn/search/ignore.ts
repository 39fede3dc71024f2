/** Which paths the `.gitignore` files of the checkout leave out, as git reads them. Pure. */
import picomatch from "picomatch"

export interface IgnoreRule {
  readonly matches: (path: string) => boolean
  readonly foldersOnly: boolean
  /** `!…`: what an earlier rule left out is back. */
  readonly negated: boolean
}

/** Rules of one file. `folder`: where the file is, from the root, "" for the root itself. */
export const ignoreRules = (folder: string, text: string): ReadonlyArray<IgnoreRule> =>
  text
    .slice(0, maxRuleCharacters)
    .split(/\r?\n/)
    .slice(0, maxRules)
    .flatMap((line) => ruleOf(folder, line) ?? [])

/** The last rule that matches decides. */
export const isIgnored = (rules: ReadonlyArray<IgnoreRule>, path: string, isFolder: boolean): boolean => {
  const rule = rules.findLast((one) => (isFolder || !one.foldersOnly) && one.matches(path))
  return rule !== undefined && !rule.negated
}

/** Of one `.gitignore`; more is not looked at. */
const maxRuleCharacters = 65_536
const maxRules = 1_000
/** A longer pattern, or one with more stars, is left alone: it could take long to match. */
const maxPattern = 256
const maxStars = 8

const ruleOf = (folder: string, line: string): IgnoreRule | undefined => {
  const text = line.replace(/(?<!\\)\s+$/, "")
  if (text === "" || text.startsWith("#") || text.length > maxPattern || text.split("*").length - 1 > maxStars) {
    return undefined
  }
  const negated = text.startsWith("!")
  const pattern = negated ? text.slice(1) : text
  const foldersOnly = pattern.endsWith("/")
  const bare = foldersOnly ? pattern.slice(0, -1) : pattern
  const anchored = bare.includes("/")
  const own = bare.startsWith("/") ? bare.slice(1) : bare
  if (own === "") return undefined
  const glob = anchored ? own : `**/${own}`
  // braces and the extended forms are plain characters to git
  const matcher = picomatch(glob, { dot: true, nobrace: true, noextglob: true, nonegate: true })
  const base = folder === "" ? "" : `${folder}/`
  return {
    negated,
    foldersOnly,
    matches: (path) => path.startsWith(base) && matcher(path.slice(base.length)),
  }
}
