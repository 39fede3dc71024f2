import { describe, expect, it } from "vitest"
import { untrustedFormat } from "#core/untrusted-context.ts"
import { envelopeText, sectionText } from "#plugins/memory/context/envelope.ts"
import { hostileTexts } from "#plugins/memory/context/hostile.examples.ts"

const nothing = { decisions: [], memories: [], session: null }
const memoryOf = (content: string, id = 1) => ({ id, agent: content, type: "learning", importance: "high", content })

/** What stands around the envelope when nothing is stored. */
const [notice = ""] = sectionText(nothing).split(`\n${envelopeText(nothing)}`)

describe("the envelope of untrusted context", () => {
  it("has 200 different hostile texts to hold", () => {
    expect(new Set(hostileTexts).size).toBe(200)
  })

  it.each(hostileTexts.map((text) => [JSON.stringify(text).slice(0, 60), text]))("holds %s", (_, text) => {
    const envelope = {
      decisions: [{ id: 1, type: "scope", title: text, content: text, rationale: text }],
      memories: [memoryOf(text), memoryOf(text, 2)],
      session: { id: 1, focus: text, active_issues: text, summary: text },
    }
    const section = sectionText(envelope)
    const lines = section.split("\n")
    const line = lines.at(-1) ?? ""
    // the envelope is the last line, and all before it is ours
    expect(lines.slice(0, -1).join("\n")).toBe(notice)
    // no character of it can end the line, look like markup, or be invisible
    expect(line).toMatch(/^[\x20-\x7e]+$/)
    expect(line).not.toMatch(/[<>]/)
    // and it says exactly what was stored
    expect(JSON.parse(line)).toEqual({ format: untrustedFormat, ...envelope })
  })

  it("holds them all at once, and halves of characters too", () => {
    const memories = [...hostileTexts, "\ud800", "\udfff\ud800"].map(memoryOf)
    expect(JSON.parse(envelopeText({ ...nothing, memories })).memories).toEqual(memories)
  })
})
