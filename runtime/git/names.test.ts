import { spawnSync } from "node:child_process"
import { describe, expect, it } from "vitest"
import { isBranchName, isFilePath, touchesGitFolder } from "#runtime/git/names.ts"

const names = [
  "main",
  "feature/x",
  "svc/run-1",
  "ä/ö",
  "a-b_c.d",
  "a/-b",
  "x@y",
  "v1.0",
  "a+b",
  "a,b",
  "a=b",
  "a;b",
  "a$(b)",
  "a'b",
  "a|b&c",
  "",
  "-x",
  "--upload-pack=touch x",
  "a..b",
  "a b",
  "a~b",
  "a^b",
  "a:b",
  "a?b",
  "a*b",
  "a[b",
  "a\\b",
  "/a",
  "a/",
  "a//b",
  ".a",
  "a/.b",
  "a.lock",
  "a.lock/b",
  "a.",
  "@",
  "HEAD",
  "a@{b",
  "a\u0007b",
  "a\nb",
  "a\tb",
  "a\u007fb",
  "../a",
  "a/../b",
]

describe("the name of a branch", () => {
  it.each(names.filter((name) => name !== ""))("is taken only where git takes it: %j", (name) => {
    const { status } = spawnSync("git", ["check-ref-format", "--branch", name], { cwd: "/" })
    if (isBranchName(name)) expect(status).toBe(0)
    // these two git takes, and means something else by them
    else expect(status !== 0 || ["HEAD", "@"].includes(name)).toBe(true)
  })

  it("is neither empty nor endless", () => {
    expect([isBranchName(""), isBranchName("a".repeat(255)), isBranchName("a".repeat(256))]).toEqual([
      false,
      true,
      false,
    ])
  })
})

describe("a path", () => {
  it.each([
    ".git",
    "a/.git/config",
    ".GIT/config",
    ".Git",
    ".git.",
    ".git ",
    ".git...",
    "git~1",
    "GIT~1/x",
    ".git::$INDEX_ALLOCATION",
    ".git:x",
    ".g\u200cit",
    "\u200e.git",
    ".git\ufeff",
    "a\\.git\\config",
    Buffer.from(".g\u200cit").toString("latin1"),
  ])("that git itself uses is known on every file system: %j", (path) => {
    expect(touchesGitFolder(path)).toBe(true)
    expect(isFilePath(path)).toBe(false)
  })

  it.each([".gitignore", ".github/x", "git", "a.git", ".gitmodules", "agit~1x", "digit~1"])(
    "may look like it: %j",
    (path) => {
      expect(isFilePath(path)).toBe(true)
    },
  )

  it.each(["", "/a", "a/", "a//b", "./a", "a/../b", "..", "a\0b", "\ud800", "x".repeat(4_097)])(
    "is refused: %j",
    (path) => {
      expect(isFilePath(path)).toBe(false)
    },
  )
})
