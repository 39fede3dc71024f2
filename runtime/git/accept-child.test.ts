/** Random edits of both sides, with real git: what is claimed is held against a second way to find out. */
import { chmodSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { Effect } from "effect"
import fc from "fast-check"
import { afterAll, describe, expect, it } from "vitest"
import { acceptChild, disputed, hasEvidence } from "#runtime/git/accept-child.ts"
import { gitAt, makeFolder, makeRepository, type TestRepository } from "#runtime/git/repository-of-test.ts"

const folder = makeFolder()
afterAll(folder.remove)

let count = 0
type Files = Readonly<Record<string, string>>

/** Two branches from one base; `change` may do more than files can say. */
const sides = (base: Files, ours: Files, theirs: Files, change?: (user: TestRepository) => void) => {
  const user = makeRepository(join(folder.path, `repository-${++count}`), base)
  const side = (branch: string, files: Files, more?: (user: TestRepository) => void) => {
    user.git("checkout", "--quiet", "-b", branch, "main")
    for (const [file, content] of Object.entries(files)) user.write(file, content)
    more?.(user)
    return user.commit(branch)
  }
  return { user, gitDir: join(user.path, ".git"), ours: side("ours", ours), theirs: side("theirs", theirs, change) }
}

type Sides = ReturnType<typeof sides>
const accept = ({ gitDir, ours, theirs }: Sides) => Effect.runPromise(acceptChild(gitDir, ours, theirs))
const claimsOf = async ({ gitDir, ours, theirs }: Sides) => {
  const files = (await Effect.runPromise(disputed(gitDir, ours, theirs)))?.files ?? []
  const claims = await Effect.runPromise(Effect.forEach(files, (file) => hasEvidence(gitDir, file), { concurrency: 4 }))
  const paths = files.map(({ path }) => path)
  return { disputes: paths, claimed: paths.filter((_, index) => claims[index]) }
}

/** What stands before a line of the base, and what becomes of it (null: nothing). */
interface Edit {
  readonly before: ReadonlyArray<string>
  readonly becomes: ReadonlyArray<string> | null
}

const base = Array.from({ length: 8 }, (_, index) => `base ${index}`)
const unchanged: Edit = { before: [], becomes: null }
/** Few words, so that both often say the same. */
const edit = fc.record({
  before: fc.array(fc.constantFrom("one", "two", "}", ""), { maxLength: 2 }),
  becomes: fc.option(fc.array(fc.constantFrom("one", "two", "}", "base 3"), { maxLength: 2 }), { freq: 2 }),
})
const edits = fc.array(fc.oneof({ weight: 3, arbitrary: fc.constant(unchanged) }, edit), { minLength: 8, maxLength: 8 })

const linesOf = (all: ReadonlyArray<Edit>, word: (text: string, place: string) => string): ReadonlyArray<string> =>
  base.flatMap((line, index) => {
    const { before, becomes } = all[index] ?? unchanged
    return [
      ...before.map((text) => word(text, `before ${index}`)),
      ...(becomes?.map((text) => word(text, `for ${index}`)) ?? [line]),
    ]
  })

/** Most of the time the second did what the first did, with something of its own. */
const pair = fc.tuple(edits, edits, fc.constantFrom(true, true, false)).map(([ours, own, follows]) => ({
  ours,
  theirs: follows
    ? ours.map((each, index) => {
        const { before, becomes } = own[index] ?? unchanged
        return { before: [...before, ...each.before], becomes: each.becomes ?? becomes }
      })
    : own,
}))
const pairs = fc.array(pair, { minLength: 40, maxLength: 40 })

const text = (lines: ReadonlyArray<string>): string => lines.map((line) => `${line}\n`).join("")
const nameOf = (index: number): string => `file-${index}.txt`
const named = (each: ReadonlyArray<ReadonlyArray<string>>): Files =>
  Object.fromEntries(each.map((lines, index) => [nameOf(index), text(lines)]))

interface Claim {
  readonly ours: ReadonlyArray<string>
  readonly theirs: ReadonlyArray<string>
  /** From the base to `ours`. */
  readonly change: string
}

/** Merges random edits, and looks at every claim; how many there were. */
const checkClaims = async (word: (text: string, place: string) => string, check: (claim: Claim) => void) => {
  let claims = 0
  let refused = 0
  const property = fc.asyncProperty(pairs, async (files) => {
    const ours = files.map((file) => linesOf(file.ours, word))
    const theirs = files.map((file) => linesOf(file.theirs, word))
    const made = sides(named(files.map(() => base)), named(ours), named(theirs))
    const { disputes, claimed } = await claimsOf(made)
    for (const path of claimed) {
      const index = files.findIndex((_, at) => nameOf(at) === path)
      const change = made.user.git("diff", "-U0", "--histogram", "main", "ours", "--", path)
      check({ ours: ours[index] ?? [], theirs: theirs[index] ?? [], change: `${change.replaceAll(path, "file")}\n` })
    }
    claims += claimed.length
    refused += disputes.length - claimed.length
    expect((await accept(made)) !== undefined).toBe(disputes.length > 0 && claimed.length === disputes.length)
  })
  await fc.assert(property, { numRuns: 3, endOnFailure: true })
  expect(claims).toBeGreaterThan(0)
  expect(refused).toBeGreaterThan(0)
}

describe("evidence", () => {
  it("is claimed only where what one side made is in the result, at its place, and what it took away is not", async () => {
    let checked = 0
    const word = (text: string, place: string) => `${text} ${place}`
    await checkClaims(word, ({ ours, theirs }) => {
      // the rule below needs every line to be of its own kind
      if (new Set(theirs).size < theirs.length || new Set(ours).size < ours.length) return
      checked++
      expect(theirs).toEqual(expect.arrayContaining(ours.filter((line) => !base.includes(line))))
      expect(theirs.filter((line) => base.includes(line) && !ours.includes(line))).toEqual([])
      expect(theirs.filter((line) => ours.includes(line))).toEqual(ours.filter((line) => theirs.includes(line)))
    })
    expect(checked).toBeGreaterThan(0)
  }, 60_000)

  it("is claimed only where the change of one side can be taken out of the result", async () => {
    await checkClaims(
      (text) => text,
      ({ theirs, change }) => {
        const at = join(folder.path, `result-${++count}`)
        mkdirSync(at)
        writeFileSync(join(at, "file"), text(theirs))
        writeFileSync(join(at, "patch"), change)
        gitAt(at, "apply", "--unidiff-zero", "--reverse", "patch")
      },
    )
  }, 60_000)
})

const lines = (...of: ReadonlyArray<string>) => text(of)
const list = lines("a", "b", "c", "d", "e")

describe("a conflict", () => {
  it("is settled where the second has all of the first and more, and nothing else changes", async () => {
    const made = sides(
      { "list.txt": list, "other.txt": "1\n2\n3\n", "same.txt": "same\n" },
      { "list.txt": lines("a", "B", "c", "d", "e"), "other.txt": "1!\n2\n3\n", "ours.txt": "ours\n" },
      { "list.txt": lines("a", "B", "B2", "c", "d", "e"), "other.txt": "1\n2\n3!\n", "theirs.txt": "theirs\n" },
    )
    const settled = await accept(made)
    expect(settled?.files).toEqual(["list.txt"])
    const show = (file: string) => made.user.git("show", `${settled?.tree}:${file}`)
    expect(show("list.txt")).toBe("a\nB\nB2\nc\nd\ne")
    expect(show("other.txt")).toBe("1!\n2\n3!")
    expect(made.user.git("ls-tree", "--name-only", settled?.tree ?? "").split("\n")).toEqual([
      "list.txt",
      "other.txt",
      "ours.txt",
      "same.txt",
      "theirs.txt",
    ])
    expect(await accept(made)).toEqual(settled)
    // the other way round it would lose a line
    expect(await accept({ ...made, ours: made.theirs, theirs: made.ours })).toBeUndefined()
  })

  it("is not settled where only one of several files shows evidence", async () => {
    const made = sides(
      { "a.txt": list, "b.txt": list },
      { "a.txt": lines("a", "B", "c"), "b.txt": lines("x") },
      { "a.txt": lines("a", "B", "C", "c"), "b.txt": lines("y") },
    )
    expect(await claimsOf(made)).toEqual({ disputes: ["a.txt", "b.txt"], claimed: ["a.txt"] })
    expect(await accept(made)).toBeUndefined()
  })

  const B = lines("a", "B", "c", "d", "e")
  const more = lines("a", "B", "B2", "c", "d", "e")
  it.each<[string, () => Sides]>([
    ["a plain one", () => sides({ f: list }, { f: B }, { f: lines("a", "x", "c", "d", "e") })],
    ["of a binary file", () => sides({ f: `\0${list}` }, { f: `\0${B}` }, { f: `\0${more}` })],
    ["of a file that both added", () => sides({ a: "a" }, { f: B }, { f: more })],
    ["of a file that one deleted", () => sides({ f: list }, { f: B }, {}, (user) => void user.git("rm", "-q", "f"))],
    [
      "of a file that one renamed",
      () => sides({ f: list }, { f: B }, { f: more }, (user) => void user.git("mv", "f", "g")),
    ],
    [
      "of a file whose mode one changed",
      () => sides({ f: list }, { f: B }, { f: more }, (user) => chmodSync(join(user.path, "f"), 0o755)),
    ],
    [
      "of a file that one made a link",
      () =>
        sides({ f: list }, { f: B }, {}, (user) => {
          rmSync(join(user.path, "f"))
          symlinkSync("g", join(user.path, "f"))
        }),
    ],
    [
      "of a file that is too long",
      () => {
        const long = "x\n".repeat(600_000)
        return sides({ f: list + long }, { f: B + long }, { f: more + long })
      },
    ],
    [
      "beside another kind of conflict",
      () => sides({ f: list, g: "g" }, { f: B, g: "ours" }, { f: more }, (user) => void user.git("rm", "-q", "g")),
    ],
    [
      "with a name that is no text",
      () => {
        const name = Buffer.from([0x66, 0xff])
        const put = (user: TestRepository, content: string) =>
          writeFileSync(Buffer.concat([Buffer.from(`${user.path}/`), name]), content)
        const made = sides({ a: "a" }, {}, {})
        const commit = (branch: string, from: string, content: string) => {
          made.user.git("checkout", "--quiet", "-b", branch, from)
          put(made.user, content)
          return made.user.commit(branch)
        }
        commit("start", "main", list)
        return { ...made, ours: commit("one", "start", B), theirs: commit("two", "start", more) }
      },
    ],
    [
      "of sides that have two bases",
      () => {
        const made = sides({ f: list, a: "a", b: "b" }, { a: "a!" }, { b: "b!" })
        const merged = (from: string, other: string, content: string) => {
          made.user.git("checkout", "--quiet", "-b", `${from}-${other}`, from)
          made.user.git("merge", "--quiet", "-m", "merge", other)
          made.user.write("f", content)
          return made.user.commit(content)
        }
        return { ...made, ours: merged("ours", "theirs", B), theirs: merged("theirs", "ours", more) }
      },
    ],
  ])("is not settled: %s", async (_, make) => {
    const made = make()
    // it is one
    expect(() => made.user.git("merge-tree", "--write-tree", made.ours, made.theirs)).toThrow()
    expect(await accept(made)).toBeUndefined()
  })
})
