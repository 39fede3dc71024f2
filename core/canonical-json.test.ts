import fc from "fast-check"
import { expect, it } from "vitest"
import { canonicalJson, sha256 } from "#core/canonical-json.ts"

/** The same value with its members in another order. */
const shuffled = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(shuffled)
  if (typeof value !== "object" || value === null) return value
  return Object.fromEntries(
    Object.entries(value)
      .reverse()
      .map(([key, inner]) => [key, shuffled(inner)]),
  )
}

it("writes every JSON value so that it reads back as it was", () => {
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      expect(JSON.parse(canonicalJson(value))).toEqual(JSON.parse(JSON.stringify(value)))
    }),
  )
})

it("writes equal values the same, whatever the order of their members", () => {
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      expect(canonicalJson(shuffled(value))).toBe(canonicalJson(value))
    }),
  )
})

it.each([
  [{ b: 1, a: [true, null, "é"] }, '{"a":[true,null,"é"],"b":1}'],
  [{ a: undefined, "2": 0, "10": 0 }, '{"10":0,"2":0}'],
  ["x", '"x"'],
  [null, "null"],
])("writes %j as %s", (value, text) => {
  expect(canonicalJson(value)).toBe(text)
})

it("names its digests", () => {
  expect(sha256("")).toBe("sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855")
})
