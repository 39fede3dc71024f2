/** `grep_search` and `file_search`: what they find, and what they stay away from. */
import { chmodSync, mkdirSync, symlinkSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { describe, expect, it } from "vitest"
import { fileSearch } from "#sandbox-agent/turn/search/file-search.ts"
import { type GrepQuery, grep } from "#sandbox-agent/turn/search/grep.ts"
import { ignoreRules, isIgnored } from "#sandbox-agent/turn/search/ignore.ts"
import { pathTest } from "#sandbox-agent/turn/search/pattern.ts"
import { findRipgrep } from "#sandbox-agent/turn/search/ripgrep.ts"
import { temporaryFolder } from "#test/support/temporary-folder.ts"

const files: Record<string, string> = {
  "src/a.ts": "const needle = 1\nother\n",
  "src/deep/b.ts": "no\nneedle (two)\r\n",
  "src/c.md": "Needle\n",
  ".github/ci.yml": "needle: ci\n",
  ".git/config": "needle in git\n",
  ".gitignore": "*.log\n/build/\n!keep.log\nnested/*.tmp\n",
  "x.log": "needle\n",
  "keep.log": "needle kept\n",
  "build/out.js": "needle built\n",
  "src/build/in.js": "needle inside\n",
  "nested/.gitignore": "secret-*\n",
  "nested/secret-1": "needle\n",
  "nested/a.tmp": "needle\n",
  "binary.bin": "needle\0\n",
  "../outside/secret.txt": "needle outside\n",
}
/** The files of a folder come before those of the folders in it. */
const found = [
  "keep.log:1:needle kept",
  ".github/ci.yml:1:needle: ci",
  "src/a.ts:1:const needle = 1",
  "src/build/in.js:1:needle inside",
  "src/deep/b.ts:2:needle (two)",
]

const makeTree = async (): Promise<string> => {
  const root = join(await temporaryFolder(), "checkout")
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(root, path)), { recursive: true })
    writeFileSync(join(root, path), text)
  }
  symlinkSync("../outside", join(root, "link"))
  symlinkSync("../outside/secret.txt", join(root, "link.txt"))
  return root
}

const never = new AbortController().signal
const query = (overrides: Partial<GrepQuery>): GrepQuery => ({
  pattern: "needle",
  isRegex: false,
  include: undefined,
  limit: 50,
  ...overrides,
})

/** Says of every path that it may have matches, as a program that was tampered with could. */
const lyingRipgrep = async (): Promise<string> => {
  const program = join(await temporaryFolder(), "rg")
  const paths = ["./src/a.ts", "link.txt", "link/secret.txt", "../outside/secret.txt", "/etc/hostname", ".git/config"]
  writeFileSync(program, `#!/bin/sh\nprintf '${paths.map((path) => `${path}\\000`).join("")}'\n`)
  chmodSync(program, 0o755)
  return program
}

const ripgrep = await findRipgrep(process.env.PATH ?? "")

describe("grep_search", () => {
  it("finds lines in what git does not ignore, and follows no link", async () => {
    const root = await makeTree()
    expect(await grep(root, query({}), undefined, never)).toEqual({ lines: found, cut: undefined })
  })

  it.runIf(ripgrep !== undefined)("finds the same where ripgrep is installed", async () => {
    const { lines } = await grep(await makeTree(), query({}), ripgrep, never)
    expect([...lines].sort()).toEqual([...found].sort())
  })

  it("finds by regular expressions that are linear in time, and by a glob for the paths", async () => {
    const root = await makeTree()
    const run = async (overrides: Partial<GrepQuery>) => (await grep(root, query(overrides), undefined, never)).lines
    expect(await run({ pattern: "^[Nn]eedle( \\(|$)", isRegex: true })).toEqual([
      "src/c.md:1:Needle",
      "src/deep/b.ts:2:needle (two)",
    ])
    expect(await run({ include: "*.ts" })).toEqual(found.filter((line) => line.includes(".ts")))
    expect(await run({ include: "src/*.ts" })).toEqual(["src/a.ts:1:const needle = 1"])
    expect(await run({ pattern: "(two)" })).toEqual(["src/deep/b.ts:2:needle (two)"])
    await expect(run({ pattern: "(", isRegex: true })).rejects.toThrow("RE2")
    await expect(run({ pattern: "(?=a)", isRegex: true })).rejects.toThrow("RE2")
    writeFileSync(join(root, "evil.txt"), `${"a".repeat(9_000)}!\n`)
    expect(await run({ pattern: "^(a+)+$", isRegex: true })).toEqual([])
    await expect(run({ pattern: "(?:a?){1000}".repeat(50), isRegex: true })).rejects.toThrow("too large")
  })

  it("stops at its limit and when its time is up, and says so", async () => {
    const root = await makeTree()
    expect(await grep(root, query({ limit: 2 }), undefined, never)).toEqual({
      lines: found.slice(0, 2),
      cut: "only the first 2 are shown",
    })
    expect(await grep(root, query({ limit: 5 }), undefined, never)).toEqual({ lines: found, cut: undefined })
    expect((await grep(root, query({}), undefined, AbortSignal.abort())).cut).toContain("time")
  })

  it("shows no more of a line than is useful", async () => {
    const root = await makeTree()
    writeFileSync(join(root, "long.txt"), `${"x".repeat(5_000)}long-line\n`)
    const { lines } = await grep(root, query({ pattern: "long-line" }), undefined, never)
    expect(lines[0]?.length).toBeLessThan(450)
  })

  it("reads nothing outside, whatever ripgrep says", async () => {
    const root = await makeTree()
    expect((await grep(root, query({}), await lyingRipgrep(), never)).lines).toEqual(["src/a.ts:1:const needle = 1"])
  })

  it("does its own search where ripgrep fails", async () => {
    const root = await makeTree()
    expect((await grep(root, query({}), "/bin/false-that-is-not-there", never)).lines).toEqual(found)
  })
})

describe("file_search", () => {
  it("finds files by names and by paths", async () => {
    const root = await makeTree()
    const run = async (glob: string, limit = 200) => fileSearch(root, glob, limit, never)
    expect((await run("*.ts")).lines).toEqual(["src/a.ts", "src/deep/b.ts"])
    expect((await run("src/*.{ts,md}")).lines).toEqual(["src/a.ts", "src/c.md"])
    expect((await run("**/config")).lines).toEqual([])
    expect((await run("secret*")).lines).toEqual([])
    expect((await run("./src/**/*.js")).lines).toEqual(["src/build/in.js"])
    expect((await run("../**")).lines).toEqual([])
    expect(await run("*", 3)).toMatchObject({ lines: { length: 3 }, cut: "only the first 3 are shown" })
    await expect(run("[z-a]")).rejects.toThrow("glob")
  })

  it("takes no longer for globs that are made to", async () => {
    const root = await temporaryFolder()
    const name = `${"a".repeat(200)}b`
    writeFileSync(join(root, name), "")
    writeFileSync(join(root, ".gitignore"), `${"*a".repeat(100)}c\n`)
    for (const glob of ["*a".repeat(400), "?*".repeat(400), "**/".repeat(300), "{a,b}".repeat(150)]) {
      expect((await fileSearch(root, `${glob}c`, 10, never)).lines).toEqual([])
    }
    expect((await fileSearch(root, `${"*a".repeat(200)}*`, 10, never)).lines).toEqual([name])
  })

  it.each([
    ["*.{ts,tsx}", "src/a.tsx", true],
    ["{src,test}/**/*.ts", "test/x/a.ts", true],
    ["{src,test/unit}/*.ts", "test/unit/a.ts", true],
    ["src/**", "src/a/b", true],
    ["src/**/a", "src/a", true],
    ["**", "a/b", true],
    ["*", "a", true],
    [".*", ".env", true],
    ["a?c", "abc", true],
    ["a?c", "a/c", false],
    ["[a-c]x", "bx", true],
    ["[!a-c]x", "bx", false],
    ["a[^b]c", "a/c", false],
    ["app/(auth)/page.tsx", "app/(auth)/page.tsx", true],
    ["{a", "{a", true],
    ["a,b", "a,b", true],
    ["\\*", "*", true],
    ["\\*", "a", false],
    ["a.c", "abc", false],
    ["é*", "éa", true],
    ["*", "a\nb", true],
  ])("%j means %j: %s", (glob, path, means) => {
    expect(pathTest(glob)(path)).toBe(means)
  })
})

describe(".gitignore", () => {
  it.each([
    ["*.log", "a/b.log", false, true],
    ["*.log", "a/b.txt", false, false],
    ["build", "x/build", true, true],
    ["build/", "x/build", false, false],
    ["/build", "x/build", true, false],
    ["/build", "build", true, true],
    ["a/b", "a/b", false, true],
    ["a/b", "x/a/b", false, false],
    ["a/**/c", "a/x/y/c", false, true],
    ["# a", "# a", false, false],
    ["\\#a", "#a", false, true],
    ["{a,b}", "a", false, false],
    ["!(a)", "b", false, false],
    ["*.log\n!b.log", "b.log", false, false],
    ["!b.log\n*.log", "b.log", false, true],
    ["a ", "a", false, true],
    ["", "a", false, false],
    ["*a".repeat(20), "a".repeat(40), false, true],
    ["[z-a]", "z", false, false],
  ])("%j leaves out %s (folder: %s): %s", (text, path, isFolder, ignored) => {
    expect(isIgnored(ignoreRules("", text), path, isFolder)).toBe(ignored)
  })

  it("counts from its own folder", () => {
    const rules = ignoreRules("sub", "/x\n*.tmp")
    expect([isIgnored(rules, "sub/x", false), isIgnored(rules, "x", false), isIgnored(rules, "a.tmp", false)]).toEqual([
      true,
      false,
      false,
    ])
  })
})
