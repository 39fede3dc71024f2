import { buffer } from "node:stream/consumers"
import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { ZipFile } from "yazl"
import { readArchive, writeArchive } from "#runtime/plugin-host/packages/archive.ts"

const bytes = (text: string) => new TextEncoder().encode(text)
const files = new Map([
  ["policy.wasm", bytes("wasm")],
  ["plugin.json", bytes("{}")],
])

const zipOf = async (fill: (zip: ZipFile) => void): Promise<Uint8Array> => {
  const zip = new ZipFile()
  fill(zip)
  zip.end()
  return new Uint8Array(await buffer(zip.outputStream))
}

/** The same bytes under another name of the same length, which no honest writer would write. */
const renamed = (archive: Uint8Array, from: string, to: string): Uint8Array =>
  Buffer.from(Buffer.from(archive).toString("latin1").replaceAll(from, to), "latin1")

const one = (name: string, content = "x") => zipOf((zip) => zip.addBuffer(Buffer.from(content), name))

describe("an archive", () => {
  it.effect("gives back what was packed", () =>
    Effect.gen(function* () {
      const read = yield* readArchive(yield* writeArchive(files))
      expect(new Map([...read].toSorted())).toEqual(new Map([...files].toSorted()))
    }),
  )

  it.effect("has the same bytes for the same files in any order", () =>
    Effect.gen(function* () {
      const other = yield* writeArchive(new Map([...files].toReversed()))
      expect(Buffer.from(yield* writeArchive(files)).equals(other)).toBe(true)
    }),
  )

  const hostile: ReadonlyArray<readonly [what: string, archive: () => Promise<Uint8Array>]> = [
    ["is none", async () => bytes("PK not really")],
    ["is empty", async () => new Uint8Array()],
    ["is cut short", async () => (await one("plugin.json")).slice(0, -10)],
    ["climbs up", async () => renamed(await one("aaxplugin.json"), "aaxplugin.json", "../plugin.json")],
    ["is absolute", async () => renamed(await one("xetc"), "xetc", "/etc")],
    ["has a backslash", async () => renamed(await one("axb"), "axb", "a\\b")],
    ["has a folder", () => one("folder/plugin.json")],
    ["has a hidden file", () => one(".npmrc")],
    ["has a drive", async () => renamed(await one("cxa.json"), "cxa.json", "c:a.json")],
    ["has NUL in a name", async () => renamed(await one("axb"), "axb", "a\u0000b")],
    [
      "has a name twice in another case",
      () =>
        zipOf((zip) => {
          zip.addBuffer(Buffer.from("a"), "plugin.json")
          zip.addBuffer(Buffer.from("b"), "PLUGIN.json")
        }),
    ],
    ["has a symbolic link", () => zipOf((zip) => zip.addBuffer(Buffer.from("/etc/passwd"), "a", { mode: 0o120777 }))],
    [
      "has too many entries",
      () =>
        zipOf((zip) => {
          for (let at = 0; at < 17; at++) zip.addBuffer(Buffer.from("a"), `f${at}`)
        }),
    ],
    ["is a bomb", () => one("policy.wasm", "\0".repeat(3_000_000))],
    ["has one large entry", () => zipOf((zip) => zip.addBuffer(Buffer.alloc(4_200_000), "a", { compress: false }))],
  ]
  it.each(hostile)("that %s is refused", async (_, make) => {
    const archive = await make()
    const refusal = await Effect.runPromise(Effect.flip(readArchive(archive)))
    expect(refusal.reason).toBe("archive")
  })

  it("with any byte changed gives the same files, other files, or a refusal, and never anything else", async () => {
    const whole = await Effect.runPromise(writeArchive(files))
    for (let at = 0; at < whole.length; at++) {
      const changed = whole.slice()
      changed[at] = (changed[at] ?? 0) ^ 0xff
      const read = await Effect.runPromise(Effect.result(readArchive(changed)))
      expect(read._tag).toMatch(/Success|Failure/)
    }
  })
})
