import fc from "fast-check"
import { expect, it } from "vitest"
import { placesOf } from "#sandbox-agent/turn/files/find-text.ts"

const few = fc.string({ unit: fc.constantFrom("a", "b"), minLength: 1, maxLength: 6 })

it("finds what indexOf finds, also where places overlap", () => {
  fc.assert(
    fc.property(fc.string({ unit: fc.constantFrom("a", "b"), maxLength: 40 }), few, (text, piece) => {
      const expected: Array<number> = []
      for (let at = text.indexOf(piece); at >= 0; at = text.indexOf(piece, at + 1)) expected.push(at)
      expect(placesOf(text, piece, 100)).toEqual(expected)
      expect(placesOf(text, piece, 1)).toEqual(expected.slice(0, 1))
    }),
  )
})
