/** One kind of destructive command: the text by which a sandbox policy names it, and how it is recognised. */
import type { DefaultPattern } from "#core/sandbox-policy/default-patterns.ts"
import type { Call, Presence } from "#policies/command/shell/call.ts"

export interface Rule {
  /** Stands in `destructive_command_patterns`; taken out of there, the rule is off. */
  readonly pattern: DefaultPattern
  /** What the command would do, for the person who is asked. */
  readonly reason: string
  readonly matches: (call: Call, all: ReadonlyArray<Call>) => Presence
}

/** A rule for programs of these names. */
export const ruleFor = (
  programs: ReadonlyArray<string>,
  pattern: DefaultPattern,
  reason: string,
  matches: Rule["matches"],
): Rule => ({
  pattern,
  reason,
  matches: (call, all) => (call.program !== undefined && programs.includes(call.program) ? matches(call, all) : "no"),
})

export const always = (): Presence => "yes"
