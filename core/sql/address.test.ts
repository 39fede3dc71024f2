import { Redacted } from "effect"
import { describe, expect, it } from "vitest"
import { addressOf } from "#core/sql/address.ts"

describe("the address of a database", () => {
  it.each([
    ["postgres://u:p@db.example:6000/name?sslmode=require", undefined],
    ["postgresql://u@[::1]:5432/name", undefined],
    ["postgres://u@a.example,b.example/name", undefined],
    ["postgres://u:p%40@%2Fvar%2Frun%2Fpg/name", "/var/run/pg"],
    ["postgres://u@/name?host=/var/run/pg&application_name=x", "/var/run/pg"],
    ["postgres:///name?host=/var/run/pg", "/var/run/pg"],
  ])("%s", (text, folder) => {
    const { url, options } = addressOf(Redacted.make(text))
    expect(options).toEqual(folder === undefined ? {} : { host: folder })
    expect(url).not.toContain("host=")
    expect(new URL(url ?? "").pathname).toBe("/name")
  })

  it("is not repeated where it is none", () => {
    const wrong = () => addressOf(Redacted.make("postgres://user:secret@ho st:99999/x"))
    expect(wrong).toThrow("not a valid postgres:// address")
    expect(wrong).not.toThrow(/secret/)
  })
})
