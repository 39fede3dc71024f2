/**
 * Would this shell command destroy something? Read as the shell reads it, so that quoting, spacing, wrappers and inner
 * shells hide nothing; what cannot be read, or is made only while it runs, counts as if it did. It looks at the
 * command alone: not at files that it runs, and not at what the sandbox would prevent.
 */
import { collapsed, type Patterns, readPatterns } from "#policies/command/patterns.ts"
import type { Call } from "#policies/command/shell/call.ts"
import type { Reading } from "#policies/command/shell/reading.ts"
import { readCommand } from "#policies/command/shell/script.ts"

/** Why a person has to look at a command. */
export interface Finding {
  /** The pattern of the policy; `unreadable` where the command cannot be judged. */
  readonly rule: string
  /** One sentence for people, without a full stop. */
  readonly reason: string
}

export const unreadable = "unreadable"

/** Bytes of UTF-8 that a command may have. */
export const maxCommandBytes = 65_536

/** What is wrong with a command that can never be run; undefined where nothing is. */
export const commandProblem = (command: string): string | undefined => {
  if (command.trim() === "") return "The command is empty."
  if (command.includes("\0")) return "The command holds a NUL character."
  if (command.length > maxCommandBytes || new TextEncoder().encode(command).length > maxCommandBytes) {
    return `The command is longer than ${maxCommandBytes} bytes.`
  }
  return undefined
}

/** Findings in the order of the policy's rules; empty where the command may run unasked. */
export const inspectCommand = (command: string, patterns: ReadonlyArray<string>): ReadonlyArray<Finding> => {
  const wanted = readPatterns(patterns)
  if (wanted.rules.length === 0 && wanted.texts.length === 0) return []
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these have no place in a command
  if (/[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]/.test(command)) {
    return [{ rule: unreadable, reason: "it holds control characters" }]
  }
  if (nesting(command) > maxNesting) return [{ rule: unreadable, reason: "its parts are nested too deeply" }]
  const reading = readCommand(command)
  const found = [...ofRules(wanted, reading), ...ofTexts(wanted, command, reading)]
  return [...found, ...[...reading.unreadable].map((reason) => ({ rule: unreadable, reason }))]
}

/** Groups and substitutions inside of each other; the readers of the shell's grammar go down once for each. */
const maxNesting = 100

const nesting = (command: string): number => {
  let depth = 0
  let deepest = 0
  for (const character of command) {
    if ("({[".includes(character)) deepest = Math.max(deepest, ++depth)
    else if (")}]".includes(character)) depth = Math.max(0, depth - 1)
  }
  return deepest
}

const ofRules = ({ rules }: Patterns, { calls }: Reading): ReadonlyArray<Finding> => {
  const matched = rules.flatMap((rule): ReadonlyArray<Finding> => {
    const presences = calls.map((call) => (call.doubtful ? certain(call, rule, calls) : rule.matches(call, calls)))
    if (presences.includes("yes")) return [{ rule: rule.pattern, reason: `it ${rule.reason}` }]
    if (!presences.includes("unknown")) return []
    return [{ rule: rule.pattern, reason: `whether it ${rule.reason} is not known before it runs` }]
  })
  // the two halves say nothing new beside the whole
  const whole = matched.some(({ rule }) => rule === "rm -rf")
  return matched.filter(({ rule }) => !whole || (rule !== "rm -r" && rule !== "rm -f"))
}

const certain = (call: Call, rule: Patterns["rules"][number], calls: ReadonlyArray<Call>) =>
  rule.matches(call, calls) === "yes" ? "yes" : "no"

/** Custom patterns are texts: looked for in the command, and in what is left of it without quotes. */
const ofTexts = ({ texts }: Patterns, command: string, { lines }: Reading): ReadonlyArray<Finding> => {
  if (texts.length === 0) return []
  const joined = command.replace(/\\\r?\n/g, "")
  const forms = [joined, joined.replace(/["'\\]/g, ""), ...lines].map((form) => ` ${collapsed(form)} `)
  return texts
    .filter((text) => forms.some((form) => form.includes(text)))
    .map((text) => ({
      rule: text,
      reason: `it holds "${text.trim()}", which the sandbox policy of the repository names`,
    }))
}
