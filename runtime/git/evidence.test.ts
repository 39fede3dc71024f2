import { describe, expect, it } from "vitest"
import { type Hunk, holdsEvery, hunksIn } from "#runtime/git/evidence.ts"

const hunk = (start: number, removed: ReadonlyArray<string>, added: ReadonlyArray<string>): Hunk => ({
  start,
  removed: removed.map((line) => `${line}\n`),
  added: added.map((line) => `${line}\n`),
})

describe("the hunks of a diff", () => {
  it("are counted from the lines before them, and keep what a line ends with", () => {
    const diff = [
      "diff --git a/a b/a",
      "--- a/a",
      "+++ b/a",
      "@@ -0,0 +1,2 @@",
      "+@@ -1 +1 @@",
      "++++ b/a\r",
      "@@ -2 +3,0 @@ a line",
      "--- a/a",
      "@@ -9 +9,2 @@",
      "-old",
      "\\ No newline at end of file",
      "+old",
      "+\\ No newline",
      "\\ No newline at end of file",
      "",
    ].join("\n")
    expect(hunksIn(diff)).toEqual([
      { start: 0, removed: [], added: ["@@ -1 +1 @@\n", "+++ b/a\r\n"] },
      { start: 1, removed: ["-- a/a\n"], added: [] },
      { start: 8, removed: ["old"], added: ["old\n", "\\ No newline"] },
    ])
  })

  it.each([
    ["of a binary file", "diff --git a/a b/a\nBinary files a/a and b/a differ\n"],
    ["with bytes that are no text", "@@ -1 +1 @@\n-a\n+\0\n"],
    ["of too many lines", `@@ -1 +1,10001 @@\n-a\n${"+b\n".repeat(10_001)}`],
    ["that ends too early", "@@ -1 +1,3 @@\n-a\n+b\n"],
    ["of nothing", ""],
  ])("are none %s", (_, diff) => {
    expect(hunksIn(diff)).toBeUndefined()
  })
})

describe("one side holds every change of the other", () => {
  it.each<[string, ReadonlyArray<Hunk>, ReadonlyArray<Hunk>]>([
    ["that is the same", [hunk(1, ["b"], ["B"])], [hunk(1, ["b"], ["B"])]],
    ["and more behind it", [hunk(1, ["b"], ["B"])], [hunk(1, ["b"], ["B", "x"])]],
    ["and more around it", [hunk(1, ["b"], ["B"])], [hunk(0, ["a", "b", "c"], ["w", "B", "x"])]],
    ["that only adds", [hunk(4, [], ["y", "}"])], [hunk(4, [], ["x", "y", "}", "z"])]],
    ["that only takes away", [hunk(1, ["b"], [])], [hunk(1, ["b", "c"], ["x"])]],
    [
      "in several places, some of them in one",
      [hunk(1, ["b"], ["B"]), hunk(3, [], ["C"]), hunk(8, ["h"], ["H"])],
      [hunk(0, ["a", "b", "c"], ["B", "x", "C"]), hunk(5, [], ["y"]), hunk(8, ["h"], ["H", "z"])],
    ],
    ["of a lone bracket, made by both alike", [hunk(1, ["b"], ["}"])], [hunk(1, ["b"], ["}"]), hunk(4, [], ["x"])]],
  ])("%s", (_, ours, theirs) => {
    expect(holdsEvery(theirs, ours)).toBe(true)
  })

  it.each<[string, ReadonlyArray<Hunk>, ReadonlyArray<Hunk>]>([
    ["where it is another change", [hunk(1, ["b"], ["B"])], [hunk(1, ["b"], ["x"])]],
    ["where a line between them is missing", [hunk(1, ["b"], ["B", "C"])], [hunk(1, ["b"], ["B", "x", "C"])]],
    ["where they are in another order", [hunk(1, ["b"], ["B", "C"])], [hunk(1, ["b"], ["C", "B"])]],
    [
      "where two hunks are in another order",
      [hunk(1, ["b"], ["B"]), hunk(3, ["d"], ["D"])],
      [hunk(1, ["b", "c", "d"], ["D", "B"])],
    ],
    [
      "where one line would count for two",
      [hunk(1, ["b"], ["x"]), hunk(3, ["d"], ["x"])],
      [hunk(1, ["b", "c", "d"], ["x"])],
    ],
    ["where it is at another place", [hunk(1, [], ["B"])], [hunk(3, [], ["B", "x"])]],
    ["where less is taken away", [hunk(1, ["b", "c"], ["B"])], [hunk(1, ["b"], ["B", "x"])]],
    ["where a blank line is not taken away", [hunk(1, ["b", ""], ["B"])], [hunk(1, ["b"], ["B", "x"])]],
    ["where nothing is taken away", [hunk(1, ["b"], ["B"])], [hunk(1, [], ["B"])]],
    ["where it is put back elsewhere", [hunk(1, ["b"], [])], [hunk(1, ["b", "c"], ["x"]), hunk(6, [], ["b"])]],
    ["where a lone bracket is found by chance", [hunk(1, [], ["}"])], [hunk(1, [], ["if (a) {", "}"])]],
    ["where blank lines are found by chance", [hunk(1, [""], [])], [hunk(1, ["", "c"], ["x"])]],
    ["where one of several is missing", [hunk(1, ["b"], ["B"]), hunk(8, ["h"], ["H"])], [hunk(1, ["b"], ["B", "x"])]],
    ["where the other did nothing", [hunk(1, ["b"], ["B"])], []],
  ])("not %s", (_, ours, theirs) => {
    expect(holdsEvery(theirs, ours)).toBe(false)
  })

  it("not where the last line of one ends without a line feed", () => {
    const ours = [{ start: 3, removed: [], added: ["x"] }]
    expect(holdsEvery([hunk(3, [], ["x", "y"])], ours)).toBe(false)
  })
})
