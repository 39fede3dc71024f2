/** The text that is shown while an answer is being written. */
import fc from "fast-check"
import { describe, expect, it } from "vitest"
import { makeVisibleText } from "#sandbox-agent/turn/visible-text.ts"

/** Secrets of each sort: known by their own form, by what stands before them, or by two ends. */
const redact = (text: string): string =>
  text
    .replace(/-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z ]*PRIVATE KEY-----|$)/g, "[redacted]")
    .replace(/\b(bearer)\s+[A-Za-z0-9]{8,}/gi, "$1 [redacted]")
    .replace(/\bghp_[A-Za-z0-9]{20,}\b|\bAKIA[0-9A-Z]{16}\b/g, "[redacted]")
    .replace(/\b((?:api_key|password)"?\s*[:=]\s*"?)[^\s"]{4,}/gi, "$1[redacted]")
    .replace(/(:\/\/[^\s/:@]+:)[^\s/@]{3,}@/g, "$1[redacted]@")

const token = `ghp_${"a1B2".repeat(9)}`
const secrets = [
  token,
  "AKIAABCDEFGHIJKLMNOP",
  `Bearer ${"x9".repeat(20)}`,
  `password = ${"hunter2hunter2"}`,
  `"api_key": "${"q7".repeat(12)}"`,
  `https://me:${"s3cret-word"}@example.org/`,
  `-----BEGIN RSA PRIVATE KEY-----\n${"MIIE+/ab\n".repeat(8)}-----END RSA PRIVATE KEY-----`,
]
const bare = ["a1B2a1B2", "AKIAABCD", "x9x9x9x9", "hunter2", "q7q7q7q7", "s3cret-word", "MIIE+/ab"]

const text = fc
  .array(fc.oneof(fc.lorem({ maxCount: 8 }), fc.constantFrom(...secrets), fc.constantFrom("\n\n", "```ts\n", "é😀")), {
    maxLength: 8,
  })
  .map((parts) => parts.join(" "))

/** Cuts a text at these places, in any order. */
const cutAt = (whole: string, places: ReadonlyArray<number>): ReadonlyArray<string> => {
  const cuts = [...new Set(places.map((place) => place % (whole.length + 1)))].sort((a, b) => a - b)
  return [...cuts, whole.length].map((end, index) => whole.slice(index === 0 ? 0 : cuts[index - 1], end))
}

describe("the visible text", () => {
  it("never shows a part of a secret, however the text comes in pieces", () => {
    fc.assert(
      fc.property(text, fc.array(fc.nat(), { maxLength: 30 }), (whole, places) => {
        const visible = makeVisibleText(redact)
        const pieces = [...cutAt(whole, places).map((piece) => visible.add(piece)), visible.end()]
        const shown = pieces.join("")
        for (const secret of bare) expect(shown).not.toContain(secret)
        expect(shown).toBe(redact(whole))
        expect(visible.whole()).toBe(redact(whole))
      }),
      { numRuns: 1_000 },
    )
  })

  it("shows words soon: all but the last few", () => {
    const visible = makeVisibleText(redact)
    expect(visible.add("one two three four five six seven eight")).toBe("one two three ")
    expect(visible.add(" nine")).toBe("four ")
    expect(visible.end()).toBe("five six seven eight nine")
  })

  it("stops showing where what was shown turns out to be a secret", () => {
    const phrase = "correct horse battery staple one two three four"
    const visible = makeVisibleText((all) => all.replaceAll(phrase, "[redacted]"))
    const shown =
      [...`It is ${phrase} and no more than that.`].map((char) => visible.add(char)).join("") + visible.end()
    expect(shown).not.toContain("battery staple one")
    expect(visible.whole()).toBe("It is [redacted] and no more than that.")
  })
})
