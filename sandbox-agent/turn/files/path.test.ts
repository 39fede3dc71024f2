/** Paths by the text alone, and the property that no path leads out. */
import { mkdirSync, symlinkSync } from "node:fs"
import { join } from "node:path"
import fc from "fast-check"
import { describe, expect, it } from "vitest"
import { locate } from "#sandbox-agent/turn/files/locate.ts"
import { isGit, refusedName } from "#sandbox-agent/turn/files/name.ts"
import { namesOf, shown } from "#sandbox-agent/turn/files/path.ts"
import { FileRefused } from "#sandbox-agent/turn/files/refused.ts"
import { temporaryFolder } from "#test/support/temporary-folder.ts"

const piece = fc.oneof(
  fc.constantFrom(
    "..",
    ".",
    "",
    "src",
    "deep",
    "out",
    "up",
    "back",
    "self",
    ".git",
    ".GIT",
    "git~1",
    ".git.",
    "a",
    "\\",
    "\0",
  ),
  fc.string({ unit: "binary", maxLength: 4 }),
)
const path = fc
  .tuple(fc.boolean(), fc.array(piece, { maxLength: 8 }))
  .map(([absolute, names]) => (absolute ? "/" : "") + names.join("/"))

describe("a path", () => {
  it("of any text leads into the checkout or is refused", async () => {
    const top = await temporaryFolder()
    const root = join(top, "checkout")
    mkdirSync(join(root, "src/deep"), { recursive: true })
    mkdirSync(join(root, ".git"))
    symlinkSync("..", join(root, "out"))
    symlinkSync("../..", join(root, "src/up"))
    symlinkSync("../src", join(root, "src/back"))
    symlinkSync("self", join(root, "self"))
    let found = 0
    await fc.assert(
      fc.asyncProperty(path, async (given) => {
        try {
          await using place = await locate(root, given)
          found += 1
          const names = place.key === "" ? [] : place.key.split("/")
          expect(names.filter((name) => name === ".." || name === "." || name === "" || isGit(name))).toEqual([])
        } catch (error) {
          expect(error).toBeInstanceOf(FileRefused)
        }
      }),
      { numRuns: 2_000 },
    )
    expect(found).toBeGreaterThan(50)
  })

  it("below the root is the same with and without it", () => {
    fc.assert(
      fc.property(fc.array(fc.stringMatching(/^[a-z]{1,5}$/), { minLength: 1, maxLength: 5 }), (names) => {
        expect(namesOf("/root/of", `/root/of/${names.join("/")}`)).toEqual(names)
        expect(namesOf("/root/of", `./${names.join("//")}/`)).toEqual(names)
      }),
    )
  })

  it("is shown on one line, without what a terminal obeys", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary", maxLength: 300 }), (given) => {
        expect(shown(given)).toMatch(/^[^\p{Cc}\u202a-\u202e]*$/u)
        expect(shown(given).length).toBeLessThan(1_300)
      }),
    )
  })
})

describe("git's name", () => {
  const disguise = fc.constantFrom("", "\u200c", "\u200d", "\u2060", "\ufeff", "\u00ad", "\ufe0f")
  it("is seen through case, what is not seen, and what systems leave off", () => {
    fc.assert(
      fc.property(
        fc.array(disguise, { minLength: 5, maxLength: 5 }),
        fc.array(fc.boolean(), { minLength: 4, maxLength: 4 }),
        fc.stringMatching(/^[. ]{0,3}(:[a-z]{0,3})?$/),
        (hidden, upper, tail) => {
          const letters = [...".git"].map((letter, at) => (upper[at] ? letter.toUpperCase() : letter))
          const name = letters.map((letter, at) => letter + (hidden[at] ?? "")).join("") + tail
          expect(isGit(name)).toBe(true)
        },
      ),
    )
  })

  it("is not seen in other names", () => {
    for (const name of [
      ".gitignore",
      "git",
      ".gi",
      "agit",
      ".git2",
      ".gitmodules",
      "git~",
      "git~a",
      "x.git",
      "..git",
    ]) {
      expect([name, isGit(name)]).toEqual([name, false])
      expect(refusedName(name)).toBeUndefined()
    }
  })
})
