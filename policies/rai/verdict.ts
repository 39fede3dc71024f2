/**
 * Reads the verdict of the responsible-AI reviewer: the last line of the form `VERDICT: <token>`, nothing else.
 * Where it names several, the most severe counts. Without such a line only a mark of danger elsewhere counts
 * (a word in capitals or a coloured circle): prose can make a verdict worse, never better.
 */
import type { RaiAnswer, RaiAsk } from "#policies/rai/model.ts"

/** From the least to the most severe. */
export const verdicts = ["green", "yellow", "revise", "red"] as const
export type Verdict = (typeof verdicts)[number]

/** Answers of the reviewer that are looked at: after one more question it is enough. */
const replyLimit = 2

const sentinel = /^[^\p{L}\p{N}\n]*VERDICT[^\p{L}\p{N}\n:]*:(.*)$/gimu
const token = /\b(?:green|yellow|revise|red)\b/gi
const danger: ReadonlyArray<readonly [RegExp, Verdict]> = [
  [/\bRED\b|\u{1F534}/u, "red"],
  [/\bYELLOW\b|\u{1F7E1}/u, "yellow"],
]

/** Undefined: there is no verdict in it. */
export const verdictOf = (reply: string): Verdict | undefined => {
  const line = [...reply.matchAll(sentinel)].at(-1)?.[1] ?? ""
  const tokens = (line.match(token) ?? []).map((found) => found.toLowerCase())
  return verdicts.findLast((verdict) => tokens.includes(verdict)) ?? danger.find(([mark]) => mark.test(reply))?.[1]
}

export const raiVerdict = ({ replies }: RaiAsk): RaiAnswer => {
  const reply = replies.at(-1)
  if (reply === undefined) return { verdict: "ask_reviewer", rationale: "The reviewer was not asked yet." }
  const verdict = verdictOf(reply)
  if (verdict !== undefined) return { verdict, rationale: rationaleOf(reply) }
  return replies.length < replyLimit
    ? { verdict: "ask_reviewer", rationale: "The reviewer's answer has no verdict in it." }
    : { verdict: "red", rationale: rationaleOf(reply), reason: "unparseable_after_reask" }
}

/** Characters of the reviewer's explanation that are kept. */
const maxRationale = 2_000

/** What the reviewer wrote beside the verdict. */
const rationaleOf = (reply: string): string => reply.replace(sentinel, "").trim().slice(0, maxRationale)
