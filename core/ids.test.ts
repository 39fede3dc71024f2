import { describe, expect, it } from "vitest"
import { isId, newId, runIdOf, subStreamId } from "#core/ids.ts"

const id = "0f8fad5b-d9cb-469f-a165-70867728950e"

describe("an id", () => {
  it("is a UUID in lower case and nothing else", () => {
    expect(isId(newId())).toBe(true)
    for (const wrong of ["", "1", id.toUpperCase(), `${id} `, `{${id}}`, id.replaceAll("-", ""), `${id}\n`]) {
      expect(isId(wrong)).toBe(false)
    }
  })

  it("of a sub-stream leads to its run", () => {
    expect(runIdOf(id)).toBe(id)
    expect(runIdOf(subStreamId(id, "rai"))).toBe(id)
    for (const wrong of [`${id}-other`, `${id}rai`, `${id}-`, "x-rai", `${id}-rai-rai`]) {
      expect(runIdOf(wrong)).toBeUndefined()
    }
  })
})
