/** Arguments of models: read with care, cleaned without being broken. */
import fc from "fast-check"
import { describe, expect, it } from "vitest"
import { cleanArguments, readArguments, toldArguments } from "#sandbox-agent/turn/arguments.ts"

const redact = (text: string): string =>
  text
    .replace(/\bghp_[A-Za-z0-9]{20,}\b/g, "[redacted]")
    .replace(/\b(password["']?\s*[:=]\s*["']?)[^\s"'&,;]{4,}/gi, "$1[redacted]")

const same = (text: string) => text

describe("arguments", () => {
  it("are a JSON object, or nothing", () => {
    expect(readArguments("")).toEqual({ _tag: "Read", value: {} })
    expect(readArguments('{"a":1}')).toEqual({ _tag: "Read", value: { a: 1 } })
    for (const text of [
      "1",
      "[]",
      "null",
      '"a"',
      "{",
      "a",
      `${"[".repeat(100_000)}`,
      `{"a":${"[".repeat(64)}${"]".repeat(64)}}`,
    ]) {
      expect(readArguments(text)._tag).toBe("Unreadable")
    }
    expect(readArguments(`{"a":"${"[".repeat(500)}"}`)._tag).toBe("Read")
  })

  it("change no prototype", () => {
    const read = readArguments('{"a":{"__proto__":{"polluted":1}},"__proto__":{"polluted":1}}')
    expect(
      read._tag === "Read" ? [Object.keys(read.value), (read.value as { polluted?: number }).polluted] : [],
    ).toEqual([["a"], undefined])
  })

  it("are stored as they are where nothing has to be taken out", () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue()), (value) => {
        const text = JSON.stringify(value, null, 1)
        expect(cleanArguments(text, same)).toBe(text)
      }),
    )
  })

  it("stay JSON when secrets are taken out of them, at any place", () => {
    const secret = `ghp_${"a1B2".repeat(9)}`
    const holder = fc.constantFrom(secret, `x="${secret}"`, `password: "${secret}"\n`, `password=${secret}\\"y`)
    fc.assert(
      fc.property(
        fc.dictionary(fc.oneof(fc.string(), fc.constant(secret)), fc.oneof(fc.jsonValue(), holder, fc.array(holder))),
        (value) => {
          const clean = cleanArguments(JSON.stringify(value), redact)
          expect(clean).not.toContain(secret)
          expect(readArguments(clean)._tag).toBe("Read")
        },
      ),
      { numRuns: 500 },
    )
    expect(cleanArguments('{"password":"hunter2hunter2"}', redact)).not.toContain("hunter2")
    expect(cleanArguments(`{"broken ${secret}`, redact)).not.toContain(secret)
  })

  it("are told no longer than somebody reads", () => {
    const told = toldArguments(JSON.stringify({ path: "a", content: "x".repeat(100_000) }), same) as { content: string }
    expect(told.content.length).toBeLessThan(17_000)
    expect(told.content).toContain("characters cut")
    const many = toldArguments(
      JSON.stringify(Object.fromEntries(Array.from({ length: 20 }, (_, at) => [at, "y".repeat(10_000)]))),
      same,
    )
    expect(JSON.stringify(many).length).toBeLessThan(70_000)
  })
})
