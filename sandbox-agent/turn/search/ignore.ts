/** Which paths the `.gitignore` files of the checkout leave out, as git reads them. Pure. */
import { globTest } from "#sandbox-agent/turn/search/glob.ts"

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
/** A longer pattern is left alone. */
const maxPattern = 256

const ruleOf = (folder: string, line: string): IgnoreRule | undefined => {
  const text = line.replace(/(?<!\\)\s+$/, "")
  if (text === "" || text.startsWith("#") || text.length > maxPattern) return undefined
  const negated = text.startsWith("!")
  const pattern = negated ? text.slice(1) : text
  const foldersOnly = pattern.endsWith("/")
  const bare = foldersOnly ? pattern.slice(0, -1) : pattern
  const anchored = bare.includes("/")
  const own = bare.startsWith("/") ? bare.slice(1) : bare
  if (own === "") return undefined
  const glob = anchored ? own : `**/${own}`
  const matches = testOf(glob)
  if (matches === undefined) return undefined
  const base = folder === "" ? "" : `${folder}/`
  return {
    negated,
    foldersOnly,
    matches: (path) => path.startsWith(base) && matches(path.slice(base.length)),
  }
}

/** A class that cannot be read matches nothing to git either. */
const testOf = (glob: string): ((path: string) => boolean) | undefined => {
  try {
    return globTest(glob, { braces: false })
  } catch {
    return undefined
  }
}
