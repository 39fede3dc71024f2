import { answer, ask, noOpinion, RaiReviewAnswer } from "./question"

// AssemblyScript, because a diff is long: patterns in TypeScript would cost twenty times the fuel for every character.

/**
 * Secrets stop a change, foreign licence headers send it back, wherever they are added. Whatever has neither is the reviewer's to
 * judge. The verdict says where and what, and never repeats the line.
 */
export function decide(): i32 {
  const diff = ask().diff
  let licence: string | null = null
  let file = ""
  let line = 0
  let inHunk = false
  for (let from = 0; from < diff.length; ) {
    let to = from
    while (to < diff.length && diff.charCodeAt(to) != 0x0a) to++
    const first = diff.charCodeAt(from)
    if (first == 0x40 /* @ */ && diff.startsWith("@@ -", from)) {
      line = startOf(diff, from, to)
      inHunk = true
    } else if (first == 0x64 /* d */ && diff.startsWith("diff --git ", from)) inHunk = false
    else if (!inHunk) {
      if (diff.startsWith("+++ ", from)) file = diff.substring(diff.startsWith("b/", from + 4) ? from + 6 : from + 4, to)
    } else if (first == 0x2b /* + */) {
      const secret = secretIn(diff, from + 1, to)
      if (secret !== null) {
        return verdict("red", place(file, line, secret) + "Take it out, and revoke it: it is known now.")
      }
      if (licence === null) {
        const found = licenceIn(diff, from + 1, to)
        if (found !== null) licence = place(file, line, found)
      }
      line++
    } else if (first == 0x20 || from == to) line++
    from = to + 1
  }
  return licence === null ? noOpinion() : verdict("revise", licence + "Write the code anew, or ask who owns it.")
}

function verdict(given: string, rationale: string): i32 {
  const made = new RaiReviewAnswer()
  made.verdict = given
  made.rationale = rationale
  return answer(made)
}

function place(file: string, line: i32, what: string): string {
  return file + ":" + line.toString() + " has " + what + ". "
}

/** Of `@@ -1,2 +3,4 @@`: 3. */
function startOf(diff: string, from: i32, to: i32): i32 {
  let start = 0
  for (let at = diff.indexOf("+", from) + 1; at < to; at++) {
    const digit = diff.charCodeAt(at) - 0x30
    if (digit < 0 || digit > 9) break
    start = start * 10 + digit
  }
  return start
}

/** How the secret that begins somewhere in this line is called. One look at each character: most are none that a secret begins with. */
function secretIn(text: string, from: i32, to: i32): string | null {
  for (let at = from; at < to; at++) {
    const code = text.charCodeAt(at)
    if (code == 0x2d /* - */) {
      if (text.startsWith("-----BEGIN ", at) && between(text.indexOf("PRIVATE KEY-----", at), at, to)) return "a private key"
    } else if (code == 0x41 /* A */) {
      const key = text.startsWith("AKIA", at) || text.startsWith("ASIA", at)
      if (key && wordFrom(text, at + 4, to, false) >= 16) return "an access key of AWS"
    } else if (code == 0x67 /* g */) {
      const token = text.startsWith("ghp_", at) || text.startsWith("gho_", at) || text.startsWith("ghs_", at)
      if (token && wordFrom(text, at + 4, to, true) >= 36) return "a token of GitHub"
    } else if (code == 0x78 /* x */) {
      if (text.startsWith("xoxb-", at) || text.startsWith("xoxp-", at)) return "a token of Slack"
    }
  }
  return null
}

function licenceIn(text: string, from: i32, to: i32): string | null {
  for (let at = from; at < to; at++) {
    const code = text.charCodeAt(at) | 0x20
    if (code == 0x67 /* g */) {
      if (matches(text, at, to, "gnu general public") || matches(text, at, to, "gnu affero")) return "the header of a GNU licence"
    } else if (code == 0x73 /* s */) {
      if (matches(text, at, to, "spdx-license-identifier: gpl")) return "the header of a GNU licence"
      if (matches(text, at, to, "spdx-license-identifier: agpl")) return "the header of a GNU licence"
    } else if (code == 0x61 /* a */) {
      if (matches(text, at, to, "all rights reserved")) return "a header that reserves all rights"
    } else if (code == 0x70 /* p */) {
      if (matches(text, at, to, "proprietary and confidential")) return "a header that reserves all rights"
    }
  }
  return null
}

/** Is this text there, in any case? `small` has small letters. */
function matches(text: string, at: i32, to: i32, small: string): bool {
  if (at + small.length > to) return false
  for (let offset = 0; offset < small.length; offset++) {
    const code = text.charCodeAt(at + offset)
    const folded = code >= 0x41 && code <= 0x5a ? code + 0x20 : code
    if (folded != small.charCodeAt(offset)) return false
  }
  return true
}

function between(at: i32, from: i32, to: i32): bool {
  return at > from && at < to
}

/** Capital letters and digits from here on; with `small`, small letters too. */
function wordFrom(text: string, from: i32, to: i32, small: bool): i32 {
  let at = from
  for (; at < to; at++) {
    const code = text.charCodeAt(at)
    const digit = code >= 0x30 && code <= 0x39
    const capital = code >= 0x41 && code <= 0x5a
    if (!digit && !capital && !(small && code >= 0x61 && code <= 0x7a)) break
  }
  return at - from
}
