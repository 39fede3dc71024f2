/**
 * The patterns of a sandbox policy: those that name a rule of the service, and texts of one's own.
 *
 * A pattern that is the name of a rule is not looked for as text: the rule reads the command as a shell does, and so
 * finds it in every disguise, and not in the name of a file.
 */
import type { DefaultPattern } from "#core/sandbox-policy/default-patterns.ts"
import { fileRules } from "#policies/command/rules/files.ts"
import { gitRules } from "#policies/command/rules/git.ts"
import { remoteRules } from "#policies/command/rules/remote.ts"
import type { Rule } from "#policies/command/rules/rule.ts"
import { systemRules } from "#policies/command/rules/system.ts"
import { windowsRules } from "#policies/command/rules/windows.ts"

const rules: ReadonlyArray<Rule> = [...fileRules, ...systemRules, ...remoteRules, ...gitRules, ...windowsRules]

/** Lower case, and one space for any white space. */
export const collapsed = (text: string): string => text.toLowerCase().replace(/\s+/g, " ")

/** Other ways to write the name of a rule. */
const synonyms: Readonly<Record<string, DefaultPattern>> = {
  "rm -fr": "rm -rf",
  "rm --recursive": "rm -r",
  "rm --force": "rm -f",
  "git push -f": "git push --force",
  "push --force": "git push --force",
  "push -f": "git push --force",
  "reset --hard": "git reset --hard",
  "branch -d": "git branch -D",
  "clean -fd": "git clean -fd",
  "git clean -f": "git clean -fd",
  "git clean -fdx": "git clean -fd",
  "| bash": "| sh",
  "wget | sh": "curl | sh",
  "wget | bash": "curl | sh",
  "curl | bash": "curl | sh",
  "remove-item": "remove-item -recurse",
  format: "format c:",
  dd: "dd if=",
}

export interface Patterns {
  readonly rules: ReadonlyArray<Rule>
  /** Collapsed. */
  readonly texts: ReadonlyArray<string>
}

export const readPatterns = (patterns: ReadonlyArray<string>): Patterns => {
  const wanted = new Set<Rule>()
  const texts: Array<string> = []
  for (const pattern of patterns) {
    const text = collapsed(pattern)
    const name = text.trim()
    if (name === "") continue
    const rule = byName.get(collapsed(synonyms[name] ?? name))
    if (rule === undefined) texts.push(text)
    else wanted.add(rule)
  }
  return { rules: rules.filter((rule) => wanted.has(rule)), texts }
}

const byName: ReadonlyMap<string, Rule> = new Map(rules.map((rule) => [collapsed(rule.pattern), rule]))
