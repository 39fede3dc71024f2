/**
 * Globs by RE2: what a model, a repository or a file's name makes of them costs time in proportion to the path. A glob
 * that becomes a backtracking expression does not: five stars and a long name are enough to hold up the whole service.
 */
import { RE2JS } from "re2js"

export interface GlobOptions {
  /** `{a,b}` are alternatives; git takes them for themselves. */
  readonly braces: boolean
}

const token =
  /\\(?<escaped>.)|(?<folders>(?<=^|[/{,])\*\*\/)|(?<all>(?<=^|[/{,])\*\*$)|(?<star>\*+)|(?<any>\?)|\[(?<not>[!^]?)(?<class>\]?[^\]]*)\]|(?<brace>[{},])|(?<plain>.)/gsu

/** Of paths with `/`, from where the glob begins. Throws what RE2 says of a class that it cannot read. */
export const globTest = (glob: string, { braces }: GlobOptions): ((path: string) => boolean) => {
  const compiled = RE2JS.compile(sourceOf(glob, braces && isBalanced(glob)), RE2JS.DOTALL)
  return (path) => compiled.matches(path)
}

const sourceOf = (glob: string, braces: boolean): string => {
  let depth = 0
  const alternatives = (brace: string): string => {
    if (brace === "{") depth += 1
    if (brace === "}") depth -= 1
    if (brace === ",") return depth > 0 ? "|" : ","
    return brace === "{" ? "(?:" : ")"
  }
  return Array.from(glob.matchAll(token), ({ groups = {} }) => {
    const { escaped, folders, all, star, any, not, class: members, brace, plain } = groups
    if (folders !== undefined) return "(?:[^/]+/)*"
    if (all !== undefined) return ".*"
    if (star !== undefined) return "[^/]*"
    if (any !== undefined) return "[^/]"
    if (members !== undefined) return `[${not === "" ? "" : "^/"}${members.replace(/[\\[\]^&]/g, "\\$&")}]`
    if (brace !== undefined && braces) return alternatives(brace)
    return RE2JS.quote(escaped ?? brace ?? plain ?? "")
  }).join("")
}

/** Every brace that opens is closed. */
const isBalanced = (glob: string): boolean => {
  let depth = 0
  for (const [text] of glob.matchAll(token)) {
    if (text === "{") depth += 1
    if (text === "}") depth -= 1
    if (depth < 0) return false
  }
  return depth === 0
}
