import { randomBytes } from "node:crypto"
import fc from "fast-check"
import { describe, expect, it } from "vitest"
import { makeSealing } from "#runtime/model/byok/sealing.ts"

const key = randomBytes(32)
const other = randomBytes(32)

describe("sealing", () => {
  it("gives back every text, and never seals it the same way twice", () => {
    const { seal, unseal } = makeSealing(key)
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), (text) => {
        const sealed = seal(text, "row")
        expect(unseal(sealed, "row")).toBe(Buffer.from(text).toString())
        expect(seal(text, "row")).not.toBe(sealed)
      }),
    )
  })

  it("does not show the text", () => {
    expect(makeSealing(key).seal("key-0123456789", "row")).not.toContain("key-0123456789")
  })

  it("refuses what belongs to another row", () => {
    const { seal, unseal } = makeSealing(key)
    expect(() => unseal(seal("text", "row"), "another")).toThrow("belongs to something else")
  })

  it("refuses every change of a character", () => {
    const { seal, unseal } = makeSealing(key)
    const sealed = seal("a text of some length", "row")
    for (let at = 0; at < sealed.length; at++) {
      const changed = `${sealed.slice(0, at)}${sealed[at] === "A" ? "B" : "A"}${sealed.slice(at + 1)}`
      // the last character of base64url may hold bits that mean nothing
      if (
        Buffer.from(changed.split(".")[2] ?? "", "base64url").equals(
          Buffer.from(sealed.split(".")[2] ?? "", "base64url"),
        )
      ) {
        if (changed.split(".")[0] === "svc1" && changed.split(".")[1] === sealed.split(".")[1]) continue
      }
      expect(() => unseal(changed, "row")).toThrow()
    }
  })

  it.each(["", "svc1", "svc1.x", "svc1..", "svc2.a.b"])("refuses %j", (sealed) => {
    expect(() => makeSealing(key).unseal(sealed, "row")).toThrow("not known")
  })

  it("opens with an old key, and says that it is old", () => {
    const sealed = makeSealing(other).seal("text", "row")
    expect(() => makeSealing(key).unseal(sealed, "row")).toThrow("not known any more")
    const rotated = makeSealing(key, [other])
    expect(rotated.unseal(sealed, "row")).toBe("text")
    expect(rotated.isCurrent(sealed)).toBe(false)
    expect(rotated.isCurrent(rotated.seal("text", "row"))).toBe(true)
  })
})
