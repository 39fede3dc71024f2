import { expect, layer } from "@effect/vitest"
import { Effect } from "effect"
import { forgetKeptValues, keptValues } from "#runtime/plugin-host/io/kept-values.ts"
import { testDatabase } from "#test/support/database.ts"

layer(testDatabase, { excludeTestServices: true, timeout: "30 seconds" })("kept values", (it) => {
  it.effect("are each plugin's own", () =>
    Effect.gen(function* () {
      const [one, other] = [yield* keptValues("one"), yield* keptValues("one-other")]
      expect(yield* one.set("key", "of one")).toBe(true)
      expect(yield* other.get("key")).toBe(null)
      expect(yield* other.delete("key")).toBe(false)
      expect(yield* other.set("key", "of other")).toBe(true)
      expect(yield* Effect.all([one.get("key"), other.get("key")])).toEqual(["of one", "of other"])
      expect(yield* forgetKeptValues("one")).toBe(1)
      expect(yield* Effect.all([one.get("key"), other.get("key")])).toEqual([null, "of other"])
    }),
  )

  it.effect("are any text, by any key", () =>
    Effect.gen(function* () {
      const values = yield* keptValues("texts")
      const texts = ["", "ü😀", "a\0b", "x".repeat(16_384), "'; drop table plugin_kv; --", "\\x00"]
      for (const text of texts) {
        yield* values.set(`key ${text.slice(0, 40).replaceAll("\0", "")}`, text)
        expect(yield* values.get(`key ${text.slice(0, 40).replaceAll("\0", "")}`)).toBe(text)
      }
    }),
  )

  it.effect("are exchanged only where they are what is expected", () =>
    Effect.gen(function* () {
      const values = yield* keptValues("compared")
      expect(yield* values.set("key", "1", "0")).toBe(false)
      expect(yield* values.set("key", "1", null)).toBe(true)
      expect(yield* values.set("key", "2", null)).toBe(false)
      expect(yield* values.set("key", "2", "1")).toBe(true)
      expect(yield* values.get("key")).toBe("2")
      expect(yield* values.delete("key")).toBe(true)
    }),
  )

  it.effect("count up without a loss where many count at once", () =>
    Effect.gen(function* () {
      const values = yield* keptValues("counting")
      const count = Effect.gen(function* () {
        const before = yield* values.get("count")
        return yield* values.set("count", String(Number(before ?? "0") + 1), before)
      }).pipe(Effect.repeat({ until: (done) => done }))
      yield* Effect.all(
        Array.from({ length: 20 }, () => count),
        { concurrency: 5 },
      )
      expect(yield* values.get("count")).toBe("20")
    }),
  )

  it.effect("are bounded in number and size, also by many at once, and a value may always become smaller", () =>
    Effect.gen(function* () {
      const values = yield* keptValues("bounded", { keys: 3, bytes: 100 })
      const writes = Array.from({ length: 8 }, (_, at) => Effect.result(values.set(`key${at}`, "v")))
      const written = yield* Effect.all(writes, { concurrency: 8 })
      expect(written.filter(({ _tag }) => _tag === "Success")).toHaveLength(3)
      yield* forgetKeptValues("bounded")
      yield* values.set("a", "x".repeat(99))
      expect(yield* Effect.flip(values.set("b", ""))).toMatchObject({ _tag: "QuotaExceeded" })
      expect(yield* Effect.flip(values.set("a", "x".repeat(100)))).toMatchObject({ _tag: "QuotaExceeded" })
      expect(yield* values.set("a", "x")).toBe(true)
      expect(yield* values.set("b", "x")).toBe(true)
      // another plugin's room is its own
      expect(yield* (yield* keptValues("roomy", { keys: 3, bytes: 100 })).set("a", "x".repeat(99))).toBe(true)
    }),
  )
})
