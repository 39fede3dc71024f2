import fc from "fast-check"
import { expect, it } from "vitest"
import { storableJson, storableText } from "#core/storable.ts"

it("leaves nothing in a text that cannot be stored", () => {
  expect(storableText("x\0y\ud800z 😀")).toBe("x\ufffdy\ufffdz 😀")
})

it("means the same in JSON, also beside backslashes that are none of an escape", () => {
  const text = fc.string({ unit: fc.constantFrom("a", "\\", "\0", "u0000", "\ud83d", "\ude00", '"'), maxLength: 12 })
  fc.assert(
    fc.property(text, (one) => {
      expect(JSON.parse(storableJson({ one, list: [one] }))).toEqual({
        one: storableText(one),
        list: [storableText(one)],
      })
      const key = JSON.parse(storableJson({ [one]: 1 }))
      expect(Object.keys(key)).toEqual([storableText(one)])
    }),
  )
})
