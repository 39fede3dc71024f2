/** `apply_patch`: the grammar, where hunks fit, all or nothing. */
import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import fc from "fast-check"
import { describe, expect, it } from "vitest"
import { applyPatch } from "#sandbox-agent/turn/patch/apply.ts"
import { applyHunks } from "#sandbox-agent/turn/patch/apply-hunks.ts"
import { parsePatch } from "#sandbox-agent/turn/patch/parse.ts"
import { temporaryFolder } from "#test/support/temporary-folder.ts"

const patchOf = (...lines: ReadonlyArray<string>): string => ["*** Begin Patch", ...lines, "*** End Patch"].join("\n")

/** The text after the update, or the problem. */
const updated = (text: string, ...lines: ReadonlyArray<string>): string => {
  const parsed = parsePatch(patchOf("*** Update File: f", ...lines))
  if ("problem" in parsed) return `${parsed.line}: ${parsed.problem}`
  const [section] = parsed.sections
  const applied = applyHunks("f", text, section?.kind === "update" ? section.hunks : [])
  return "text" in applied ? applied.text : applied.problem
}

describe("a patch that cannot be read", () => {
  it.each([
    ["nothing", "", "first line"],
    ["no beginning", "*** Update File: f\n*** End Patch", "first line"],
    ["no end", "*** Begin Patch\n*** Delete File: f", "last line"],
    ["no sections", patchOf(), "changes nothing"],
    ["a line of none", patchOf("hello"), "Line 2 of the patch: Expected"],
    ["an unknown section", patchOf("*** Rename File: f"), "Expected"],
    ["a unified diff", patchOf("--- a/f", "+++ b/f"), "Expected"],
    ["an added file without plus", patchOf("*** Add File: f", "+a", "b"), "Line 4 of the patch: Every line"],
    ["a deleted file with lines", patchOf("*** Delete File: f", "-a"), "no lines"],
    ["an update without hunks", patchOf("*** Update File: f"), "no hunks"],
    ["a hunk with another mark", patchOf("*** Update File: f", "@@", "*a"), "begins with a space"],
    ["an end of nothing", patchOf("*** Update File: f", "*** End of File"), "comes after the lines"],
  ])("tells what is wrong: %s", async (_, patch, problem) => {
    await expect(applyPatch(await temporaryFolder(), patch)).rejects.toThrow(problem)
  })
})

describe("an update", () => {
  it("finds lines by their text and keeps the rest", () => {
    expect(updated("a\nb\nc\nd\n", "@@", " b", "-c", "+C", "+CC", " d")).toBe("a\nb\nC\nCC\nd\n")
  })

  it("puts several hunks in, each below the one before it", () => {
    expect(updated("x\n1\nx\n2\nx\n", "@@", "-x", "+first", "@@", " 2", "-x", "+last")).toBe("first\n1\nx\n2\nlast\n")
    expect(updated("b\na\n", "@@", "-a", "+A", "@@", "-b", "+B")).toContain(
      "hunk 2 of 2 (line 6 of the patch) does not match",
    )
  })

  it("fits into a long file, and is given up where it is made to take long", () => {
    expect(updated(`${"a\n".repeat(300_000)}z\n`, "@@", "-z", "+y")).toMatch(/^a\n(?:a\n)*y\n$/)
    const sought = Array<string>(50_000).fill(" a")
    expect(updated("a\n".repeat(500_000), "@@", ...sought, "-b", "+c")).toContain("too long to fit")
  })

  it("comes after the line of its anchor", () => {
    const text = "class A\n  run\n  stop\nclass B\n  run\n  stop\n"
    expect(updated(text, "@@ class B", "-  run", "+  walk")).toBe("class A\n  run\n  stop\nclass B\n  walk\n  stop\n")
    expect(updated(text, "@@ class C", "-  run", "+  walk")).toContain('after the line "class C"')
    expect(updated(text, "@@ class A", "+  new")).toBe("class A\n  new\n  run\n  stop\nclass B\n  run\n  stop\n")
  })

  it("can be bound to the end of the file", () => {
    expect(updated("x\ny\nx\n", "@@", "-x", "+z", "*** End of File")).toBe("x\ny\nz\n")
    expect(updated("a\n", "@@", "+b")).toBe("a\nb\n")
    expect(updated("", "@@", "+b")).toBe("b\n")
  })

  it("forgives spaces at the ends of lines before those at their beginnings", () => {
    expect(updated("  a  \nb\n", "@@", "-  a", "+c")).toBe("c\nb\n")
    expect(updated("    a\n  a\n", "@@", "-  a", "+c")).toBe("    a\nc\n")
    expect(updated("\ta\n", "@@", "-  a", "+c")).toBe("c\n")
  })

  it("takes an empty line for one of context", () => {
    expect(updated("a\n\nb\n", "@@", " a", "", "-b", "+c")).toBe("a\n\nc\n")
  })

  it("keeps the line ends of the file, and its missing last one", () => {
    expect(updated("a\r\nb\r\n", "@@", "-b", "+c", "+d")).toBe("a\r\nc\r\nd\r\n")
    expect(updated("a\nb", "@@", "-a", "+c")).toBe("c\nb")
    expect(updated("a\nb", "@@", "-b", "+c")).toBe("a\nc")
  })

  it("shows the lines that are not found", () => {
    expect(updated("a\n", "@@", " one", "-two")).toBe(
      "f: hunk 1 of 1 (line 3 of the patch) does not match: these lines are not found:\none\ntwo",
    )
  })
})

describe("a patch of several files", () => {
  it("adds, updates, moves and deletes", async () => {
    const root = await temporaryFolder()
    writeFileSync(join(root, "old.sh"), "echo old\n", { mode: 0o755 })
    writeFileSync(join(root, "gone.txt"), "x\n")
    writeFileSync(join(root, "same.txt"), "one\ntwo\n")
    const done = await applyPatch(
      root,
      patchOf(
        "*** Add File: new/deep.txt",
        "+first",
        "+",
        "+third",
        "*** Update File: same.txt",
        "@@",
        "-two",
        "+TWO",
        "*** Update File: old.sh",
        "*** Move to: bin/new.sh",
        "@@",
        "-echo old",
        "+echo new",
        "*** Delete File: gone.txt",
      ),
    )
    expect(done).toEqual(["added new/deep.txt", "updated same.txt", "moved old.sh to bin/new.sh", "deleted gone.txt"])
    expect(readFileSync(join(root, "new/deep.txt"), "utf8")).toBe("first\n\nthird\n")
    expect(readFileSync(join(root, "same.txt"), "utf8")).toBe("one\nTWO\n")
    expect(readFileSync(join(root, "bin/new.sh"), "utf8")).toBe("echo new\n")
    expect(statSync(join(root, "bin/new.sh")).mode & 0o777).toBe(0o755)
    expect([existsSync(join(root, "old.sh")), existsSync(join(root, "gone.txt"))]).toEqual([false, false])
  })

  it.each([
    ["a hunk that does not fit", ["*** Update File: a.txt", "@@", "-missing"]],
    ["a file that is not there", ["*** Update File: missing.txt", "@@", "-a", "+b"]],
    ["a file that is there", ["*** Add File: a.txt", "+b"]],
    ["a move over a file", ["*** Update File: a.txt", "*** Move to: b.txt", "@@", "-a", "+b"]],
    ["a path outside", ["*** Add File: ../outside.txt", "+b"]],
    ["a second section for one file", ["*** Update File: ./first.txt", "@@", "-x", "+y"]],
    ["a folder in the place of a file", ["*** Delete File: folder"]],
    ["a file in the place of a folder", ["*** Add File: a.txt/b", "+b"]],
    ["a binary file", ["*** Update File: binary", "@@", "-a", "+b"]],
  ])("does nothing at all where one of them fails: %s", async (_, lines) => {
    const root = await temporaryFolder()
    writeFileSync(join(root, "a.txt"), "a\n")
    writeFileSync(join(root, "b.txt"), "b\n")
    writeFileSync(join(root, "binary"), "a\0b")
    mkdirSync(join(root, "folder"))
    await expect(applyPatch(root, patchOf("*** Add File: first.txt", "+x", ...lines))).rejects.toMatchObject({
      _tag: "FileRefused",
    })
    expect(existsSync(join(root, "first.txt"))).toBe(false)
    expect(readFileSync(join(root, "a.txt"), "utf8")).toBe("a\n")
  })
})

const line = fc.string({ unit: fc.constantFrom("a", "b", " ", "{", "}", "é"), maxLength: 4 })

describe("properties", () => {
  it("an update made from two texts turns one into the other", () => {
    const edit = fc.record({
      keep: fc.array(line, { maxLength: 6 }),
      drop: fc.array(line, { maxLength: 3 }),
      add: fc.array(line, { maxLength: 3 }),
    })
    fc.assert(
      fc.property(fc.array(edit, { minLength: 1, maxLength: 5 }), (edits) => {
        const before = edits.flatMap(({ keep, drop }) => [...keep, ...drop])
        const after = edits.flatMap(({ keep, add }) => [...keep, ...add])
        fc.pre(before.length > 0)
        const lines = edits.flatMap(({ keep, drop, add }) => [
          ...keep.map((text) => ` ${text}`),
          ...drop.map((text) => `-${text}`),
          ...add.map((text) => `+${text}`),
        ])
        const text = (all: ReadonlyArray<string>) => all.map((one) => `${one}\n`).join("")
        expect(updated(text(before), "@@", ...lines)).toBe(text(after))
      }),
      { numRuns: 500 },
    )
  })

  it("no text makes the parser fail, and what it reads is in the text", () => {
    const part = fc.constantFrom(
      "*** Begin Patch",
      "*** End Patch",
      "*** Add File: a",
      "*** Update File: b",
      "*** Move to: c",
      "*** Delete File: d",
      "*** End of File",
      "@@",
      "@@ x",
      " y",
      "+z",
      "-w",
      "",
      "\r",
      "*** ",
    )
    fc.assert(
      fc.property(fc.array(fc.oneof(part, fc.string())), fc.boolean(), (lines, whole) => {
        const patch = whole ? patchOf(...lines) : lines.join("\n")
        const parsed = parsePatch(patch)
        if ("problem" in parsed) expect(parsed.line).toBeLessThanOrEqual(patch.split("\n").length)
        else for (const section of parsed.sections) expect(patch).toContain(section.path)
      }),
      { numRuns: 2_000 },
    )
  })
})
