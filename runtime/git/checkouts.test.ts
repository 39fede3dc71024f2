import { execFileSync } from "node:child_process"
import { existsSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { expect, layer } from "@effect/vitest"
import { Effect } from "effect"
import { afterAll } from "vitest"
import { type Checkout, Checkouts } from "#core/ports/checkouts.ts"
import { checkoutsIn, gitAt, makeFolder, makeRepository } from "#runtime/git/repository-of-test.ts"

const folder = makeFolder()
afterAll(folder.remove)
const data = join(folder.path, "data")
const author = { name: "Ada", email: "ada@example.org" }

let count = 0
const repository = (files?: Readonly<Record<string, string>>) =>
  makeRepository(join(folder.path, `repository-${++count}`), files)
const prepare = (path: string, runId = `run-${++count}`, base = "main") =>
  Effect.flatMap(Checkouts, (checkouts) => checkouts.prepare({ runId, repository: path, base }))
const put = (checkout: Checkout, file: string, content: string | Uint8Array) => {
  mkdirSync(join(checkout.path, file, ".."), { recursive: true })
  writeFileSync(join(checkout.path, file), content)
}

layer(checkoutsIn(data), { excludeTestServices: true })("a checkout", (it) => {
  it.effect("shows the files of the base, on a branch of its own that the user sees", () =>
    Effect.gen(function* () {
      const user = repository({ "a.txt": "a\n", "folder/b.txt": "b\n" })
      const checkout = yield* prepare(user.path, "run-first")
      expect(readFileSync(join(checkout.path, "folder/b.txt"), "utf8")).toBe("b\n")
      expect(checkout).toMatchObject({ runId: "run-first", branch: "svc/run-first", baseCommit: user.head("main") })
      expect(user.head("svc/run-first")).toBe(user.head("main"))
      expect(user.git("status", "--porcelain")).toBe("")
    }),
  )

  it.effect("is the same one when it is asked for again, with the work in it", () =>
    Effect.gen(function* () {
      const user = repository()
      const checkouts = yield* Checkouts
      const checkout = yield* prepare(user.path, "run-again")
      put(checkout, "new.txt", "new\n")
      expect(yield* prepare(user.path, "run-again")).toEqual(checkout)
      expect(yield* checkouts.open(checkout)).toEqual(checkout)
      expect(readFileSync(join(checkout.path, "new.txt"), "utf8")).toBe("new\n")
    }),
  )

  it.effect("commits everything, once", () =>
    Effect.gen(function* () {
      const user = repository({ "a.txt": "a\n", "gone.txt": "gone\n", ".gitignore": "*.log\n" })
      const checkouts = yield* Checkouts
      const checkout = yield* prepare(user.path)
      const before = yield* checkouts.commit(checkout, "nothing", author)
      expect(before).toEqual({ commit: checkout.baseCommit, treeHash: user.head("main^{tree}"), hasChanges: false })
      put(checkout, "a.txt", "A\n")
      put(checkout, "new/deep/file.txt", "new\n")
      put(checkout, "debug.log", "ignored\n")
      rmSync(join(checkout.path, "gone.txt"))
      const committed = yield* checkouts.commit(checkout, "Change\n\nWith a body", author)
      expect(committed.hasChanges).toBe(true)
      expect(user.head(checkout.branch)).toBe(committed.commit)
      expect(user.git("diff", "--name-status", "main", checkout.branch).split("\n")).toEqual([
        "M\ta.txt",
        "D\tgone.txt",
        "A\tnew/deep/file.txt",
      ])
      expect(user.git("log", "-1", "--format=%an|%ae|%B", checkout.branch)).toBe(
        "Ada|ada@example.org|Change\n\nWith a body",
      )
      expect(yield* checkouts.commit(checkout, "again", author)).toEqual(committed)
      expect(yield* checkouts.snapshot(checkout)).toEqual(committed)
      expect(user.git("fsck", "--strict")).toBe("")
      expect(user.git("status", "--porcelain")).toBe("")
    }),
  )

  // of a large commit git remembers the times of the files, of a small one it does not
  it.effect.each([
    ["a few", 0],
    ["many", 1_000],
  ] as const)(
    "notices among %s files a change of one byte in the same second, and one that pretends to be old",
    ([, more]) =>
      Effect.gen(function* () {
        const others = Array.from({ length: more }, (_, at) => [`more/${at}.txt`, `${at}\n`])
        const user = repository({ "a.txt": "a\n", "b.txt": "b\n", ...Object.fromEntries(others) })
        const checkouts = yield* Checkouts
        const checkout = yield* prepare(user.path)
        const seen = new Set<string>()
        for (const content of ["1\n", "2\n", "3\n"]) {
          put(checkout, "a.txt", content)
          seen.add((yield* checkouts.commit(checkout, content, author)).treeHash)
        }
        execFileSync("sh", ["-c", "touch -r b.txt stamp; echo B > b.txt; touch -r stamp b.txt; rm stamp"], {
          cwd: checkout.path,
        })
        seen.add((yield* checkouts.commit(checkout, "old", author)).treeHash)
        for (const content of ["4", "5", "6"]) {
          execFileSync("sh", ["-c", `echo ${content} > a.txt; touch -d @1 a.txt`], { cwd: checkout.path })
          seen.add((yield* checkouts.commit(checkout, content, author)).treeHash)
        }
        expect(seen.size).toBe(7)
      }),
  )

  it.effect("tells what changed, committed and not", () =>
    Effect.gen(function* () {
      const user = repository({ "a.txt": "a\n", "b.txt": "1\n2\n3\n" })
      const checkouts = yield* Checkouts
      const checkout = yield* prepare(user.path)
      expect(yield* checkouts.files(checkout, "last-commit")).toEqual([])
      put(checkout, "b.txt", "1\n2\n4\n5\n")
      yield* checkouts.commit(checkout, "one", author)
      put(checkout, "c.txt", "c\n")
      yield* checkouts.commit(checkout, "two", author)
      rmSync(join(checkout.path, "a.txt"))
      put(checkout, "c.txt", "C\n")
      const b = { path: "b.txt", status: "modified", scope: "committed", addedLines: 2, removedLines: 1 }
      const a = { path: "a.txt", status: "deleted", scope: "uncommitted", addedLines: 0, removedLines: 1 }
      const c = { path: "c.txt", status: "added", scope: "uncommitted", addedLines: 1, removedLines: 0 }
      expect(yield* checkouts.files(checkout, "all")).toEqual([a, b, c])
      expect(yield* checkouts.files(checkout, "committed")).toEqual([b, { ...c, scope: "committed" }])
      expect(yield* checkouts.files(checkout, "uncommitted")).toEqual([
        a,
        { ...c, status: "modified", removedLines: 1 },
      ])
      expect(yield* checkouts.files(checkout, "last-commit")).toEqual([{ ...c, scope: "committed" }])
      user.git("merge", "--quiet", checkout.branch)
      expect(yield* checkouts.files(checkout, "committed")).toMatchObject([{ scope: "merged" }, { scope: "merged" }])
    }),
  )

  it.effect("shows one file: its difference, its content, its language", () =>
    Effect.gen(function* () {
      const user = repository({ "a.ts": "a\n", "same.md": "same\n" })
      const checkouts = yield* Checkouts
      const checkout = yield* prepare(user.path)
      put(checkout, "a.ts", "b\n")
      put(checkout, "image.png", Buffer.from([1, 0, 2]))
      put(checkout, "large.txt", "x".repeat(1_048_577))
      symlinkSync("a.ts", join(checkout.path, "link"))
      const difference = yield* checkouts.fileDiff(checkout, "a.ts")
      expect(difference).toMatchObject({ status: "modified", isBinary: false })
      expect(difference.diff).toContain("-a\n+b\n")
      expect(yield* checkouts.fileDiff(checkout, "same.md")).toMatchObject({ status: "unchanged", diff: "" })
      expect(yield* checkouts.fileDiff(checkout, "image.png")).toMatchObject({ diff: null, isBinary: true })
      const content = (path: string) => checkouts.fileContent(checkout, path)
      expect(yield* content("a.ts")).toEqual({ path: "a.ts", content: "b\n", isBinary: false, language: "typescript" })
      expect(yield* content("image.png")).toEqual({ path: "image.png", content: null, isBinary: true, language: null })
      expect(yield* content("large.txt")).toMatchObject({ content: null, isBinary: false, language: "too_large" })
      expect((yield* content("link")).content).toBe("a.ts")
      for (const path of ["none", "folder/none"]) {
        expect((yield* Effect.flip(content(path))).kind).toBe("not_found")
        expect((yield* Effect.flip(checkouts.fileDiff(checkout, path))).kind).toBe("not_found")
      }
    }),
  )

  it.effect("shows its tree, with what was removed", () =>
    Effect.gen(function* () {
      const user = repository({ "a.txt": "a\n", "gone/b.txt": "b\n" })
      const checkouts = yield* Checkouts
      const checkout = yield* prepare(user.path)
      put(checkout, "new/c.txt", "c\n")
      rmSync(join(checkout.path, "gone"), { recursive: true })
      const none = { status: null, addedLines: 0, removedLines: 0 }
      expect(yield* checkouts.tree(checkout)).toEqual([
        { path: "a.txt", isFolder: false, ...none },
        { path: "gone", isFolder: true, ...none },
        { path: "gone/b.txt", isFolder: false, status: "deleted", addedLines: 0, removedLines: 1 },
        { path: "new", isFolder: true, ...none },
        { path: "new/c.txt", isFolder: false, status: "added", addedLines: 1, removedLines: 0 },
      ])
    }),
  )

  it.effect("cuts a long diff at a line, and says so", () =>
    Effect.gen(function* () {
      const user = repository()
      const checkouts = yield* Checkouts
      const checkout = yield* prepare(user.path)
      put(checkout, "long.txt", "0123456789\n".repeat(1_000))
      const whole = yield* checkouts.diff(checkout, 1_000_000)
      expect(whole.match(/^\+0123456789$/gm)).toHaveLength(1_000)
      const cut = yield* checkouts.diff(checkout, 500)
      expect(cut.length).toBeLessThan(600)
      expect(cut).toMatch(/\n\+0123456789\n\n\(The diff was cut here: it is longer than 500 bytes\.\)\n$/)
    }),
  )

  it.effect("takes up the branch where the data folder was lost", () =>
    Effect.gen(function* () {
      const user = repository()
      const checkouts = yield* Checkouts
      const checkout = yield* prepare(user.path, "run-lost")
      put(checkout, "work.txt", "work\n")
      const { commit } = yield* checkouts.commit(checkout, "work", author)
      yield* checkouts.remove(checkout, { branch: false })
      user.write("later.txt", "later\n")
      user.commit("later")
      const again = yield* prepare(user.path, "run-lost")
      expect(again.baseCommit).toBe(checkout.baseCommit)
      expect(readFileSync(join(again.path, "work.txt"), "utf8")).toBe("work\n")
      expect((yield* checkouts.snapshot(again)).commit).toBe(commit)
    }),
  )

  it.effect("is taken away with its branch, and that twice", () =>
    Effect.gen(function* () {
      const user = repository()
      const checkouts = yield* Checkouts
      const checkout = yield* prepare(user.path)
      for (let times = 0; times < 2; times++) yield* checkouts.remove(checkout, { branch: true })
      expect(existsSync(checkout.path)).toBe(false)
      expect(yield* checkouts.branchHead(user.path, checkout.branch)).toBe(null)
      expect((yield* Effect.flip(checkouts.open(checkout))).kind).toBe("not_found")
      expect(yield* checkouts.branchHead(user.path, "main")).toBe(user.head("main"))
    }),
  )

  it.effect("lets the agent's git read, and nothing more", () =>
    Effect.gen(function* () {
      const user = repository({ "a.txt": "a\n" })
      const checkouts = yield* Checkouts
      const checkout = yield* prepare(user.path)
      put(checkout, "a.txt", "b\n")
      yield* checkouts.commit(checkout, "one", author)
      put(checkout, "new.txt", "new\n")
      const script = [
        ...checkout.mounts.map(({ path }) => `mount --bind '${path}' '${path}' && mount -o remount,bind,ro '${path}'`),
        "git status --porcelain",
        "git log --format=%s",
        "git diff --stat HEAD~1",
        "git add -A 2>/dev/null && echo wrote the index",
        "git update-ref refs/heads/main HEAD 2>/dev/null && echo wrote a ref",
        "git hash-object -w a.txt 2>/dev/null && echo wrote an object",
        "git config a.b c 2>/dev/null && echo wrote the configuration",
        "true",
      ].join("\n")
      const inside = execFileSync("unshare", ["--user", "--map-root-user", "--mount", "sh", "-c", script], {
        cwd: checkout.path,
        encoding: "utf8",
      })
      expect(inside).toBe("?? new.txt\none\nfirst\n a.txt | 2 +-\n 1 file changed, 1 insertion(+), 1 deletion(-)\n")
    }),
  )

  it.effect("is refused where there is nothing to begin with", () =>
    Effect.gen(function* () {
      const user = repository()
      const empty = join(folder.path, "empty")
      mkdirSync(empty)
      gitAt(empty, "init", "--quiet", "--initial-branch=main")
      const kind = (path: string, runId: string, base: string) =>
        Effect.map(Effect.flip(prepare(path, runId, base)), (error) => error.kind)
      expect(yield* kind(empty, "run-x", "main")).toBe("unknown_branch")
      expect(yield* kind(empty, "run-x", "HEAD")).toBe("unknown_branch")
      expect(yield* kind(folder.path, "run-x", "main")).toBe("not_a_repository")
      expect(yield* kind(join(folder.path, "none"), "run-x", "main")).toBe("not_a_repository")
      expect(yield* kind(user.path, "run-x", "other")).toBe("unknown_branch")
      expect(yield* kind(user.path, "run-x", "0".repeat(40))).toBe("unknown_branch")
      for (const runId of ["", "..", "a/b", "-x", "a..b", "x.lock", "a b"]) {
        expect(yield* kind(user.path, runId, "main")).toBe("invalid")
      }
    }),
  )
})
