import fc from "fast-check"
import { describe, expect, it } from "vitest"
import { readArray, readTimestamp, writeArray } from "#core/sql/types.ts"

describe("times", () => {
  it.each([
    ["2026-11-21 12:00:00+00", "2026-11-21T12:00:00.000Z"],
    ["2026-11-21 12:00:00.1+00", "2026-11-21T12:00:00.100Z"],
    ["2026-11-21 12:00:00.999999+00", "2026-11-21T12:00:00.999Z"],
    ["infinity", "infinity"],
    ["0044-03-15 12:00:00+00 BC", "0044-03-15 12:00:00+00 BC"],
  ])("%s is read as %s", (text, time) => {
    expect(readTimestamp(text)).toBe(time)
  })
})

describe("arrays", () => {
  it("are read as they were written, whatever is in them", () => {
    fc.assert(
      fc.property(fc.array(fc.option(fc.string({ unit: "binary" }))), (words) => {
        expect(readArray(writeArray(words), String)).toEqual(words)
      }),
    )
  })

  it("of numbers and truth values are read by the reader of their elements", () => {
    expect(readArray("{1,NULL,-2.5}", Number)).toEqual([1, null, -2.5])
    expect(readArray("{t,f}", (text) => text === "t")).toEqual([true, false])
    expect(readArray("{}", Number)).toEqual([])
  })
})
