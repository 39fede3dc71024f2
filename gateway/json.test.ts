import { Effect, Exit } from "effect"
import { describe, expect, it } from "vitest"
import { maxDepth, parseJson } from "#gateway/json.ts"

const bytes = (text: string) => new TextEncoder().encode(text)
const read = (input: string | Uint8Array) =>
  Effect.runSyncExit(parseJson(typeof input === "string" ? bytes(input) : input))

/** What was refused, as `path: message`, or the message alone. */
const refusal = (input: string | Uint8Array): string => {
  const exit = read(input)
  if (Exit.isSuccess(exit)) return "accepted"
  const reason = exit.cause.reasons[0]
  return reason?._tag === "Fail" ? reason.error.message : "defect"
}

describe("a JSON body", () => {
  it.each([
    "null",
    "1",
    '""',
    "[]",
    "{}",
    ' {"a": [1, -2.5e3, true, false, null, "x", {"a": {"a": 1}}], "b\\u0041": "\\ud83d\\ude00 \\\\", "c": "\\""} ',
    '{"a":{"x":1},"b":{"x":1}}',
    '["a","a",{"a":"a"},{"a":"a"}]',
    '{"":1," ":2}',
  ])("is read as JSON.parse reads it: %s", (text) => {
    expect(read(text)).toEqual(Exit.succeed(JSON.parse(text)))
  })

  it.each([
    ["", "The body is not valid JSON"],
    ["{", "The body is not valid JSON"],
    ['{"a":1,}', "line 1, column 8"],
    ['{\n"a": 1,}', "line 2, column 8"],
    ["NaN", "not valid JSON"],
    ["'a'", "not valid JSON"],
    ['"\u0000"', "not valid JSON"],
    [new Uint8Array([0x22, 0xff, 0x22]), "not valid UTF-8"],
    [new Uint8Array([0x22, 0xed, 0xa0, 0x80, 0x22]), "not valid UTF-8"],
    ['{"a":1,"a":2}', "body.a: This name occurs twice"],
    ['{"x":[{"a":1,"\\u0061":2}]}', "body.x[0].a: This name occurs twice"],
    ['{"__proto__":{"admin":true}}', "body.__proto__: This name is not allowed"],
    ['{"\\u005f_proto__":{}}', "body.__proto__: This name is not allowed"],
    ['{"a":{"constructor":1}}', "body.a.constructor: This name is not allowed"],
    ['{"a":["ok","\\u0000"]}', "body.a[1]: Expected text without NUL characters"],
    ['{"a":"\\ud800"}', "body.a: Expected text without unpaired surrogates"],
    ['{"\\udc00":1}', "unpaired surrogates"],
    ['{"n":1e999}', "body.n: Expected a smaller number"],
    [`[${"9".repeat(400)}]`, "body[0]: Expected a smaller number"],
    ["[".repeat(maxDepth + 1) + "]".repeat(maxDepth + 1), `at most ${maxDepth} levels`],
    [`${'{"a":'.repeat(maxDepth + 1)}1${"}".repeat(maxDepth + 1)}`, `at most ${maxDepth} levels`],
  ])("is refused where it would mislead: %s", (input, message) => {
    expect(refusal(input)).toContain(message)
  })

  it("does not repeat what the caller sent", () => {
    expect(refusal('{"password": hunter2}')).not.toContain("hunter2")
  })

  it("may have 64 levels", () => {
    expect(refusal("[".repeat(maxDepth) + "]".repeat(maxDepth))).toBe("accepted")
  })

  it("takes time in proportion to its size", () => {
    const many = `[${Array.from({ length: 100_000 }, (_, i) => `"s${i}"`).join(",")}]`
    const started = performance.now()
    expect(refusal(many)).toBe("accepted")
    expect(refusal(`"${"\\\\".repeat(400_000)}"`)).toBe("accepted")
    expect(refusal(`{${Array.from({ length: 100_000 }, (_, i) => `"n${i}":${i}`).join(",")}}`)).toBe("accepted")
    expect(performance.now() - started).toBeLessThan(3_000)
  })
})
