/** What a repository of a user may hold: settings, hooks, names and objects that are made to do harm. */
import { execFileSync, spawnSync } from "node:child_process"
import { existsSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { expect, layer } from "@effect/vitest"
import { Effect } from "effect"
import { afterAll } from "vitest"
import { Checkouts } from "#core/ports/checkouts.ts"
import { checkoutsIn, makeFolder, makeRepository, type TestRepository } from "#runtime/git/repository-of-test.ts"
import { setTrap } from "#runtime/git/trap-of-test.ts"

const folder = makeFolder()
afterAll(folder.remove)
const author = { name: "Ada", email: "ada@example.org" }
const { isSprung, arm } = setTrap(folder.path)

layer(checkoutsIn(join(folder.path, "data")), { excludeTestServices: true })("a repository", (it) => {
  it.effect("starts nothing by its hooks, its configuration or its attributes", () =>
    Effect.gen(function* () {
      const user = makeRepository(join(folder.path, "armed"), {
        "a.txt": "a\n",
        ".gitattributes": "* filter=evil diff=evil merge=evil\n",
      })
      user.git("branch", "other")
      arm(join(user.path, ".git"))
      const checkouts = yield* Checkouts
      const checkout = yield* checkouts.prepare({ runId: "armed", repository: user.path, base: "main" })
      writeFileSync(join(checkout.path, "a.txt"), "b\n")
      const { commit } = yield* checkouts.commit(checkout, "work", author)
      yield* checkouts.files(checkout, "all")
      const integration = { repository: user.path, base: "main", branch: "svc/integration/x", expected: null, author }
      expect(yield* checkouts.integrate({ ...integration, commits: [{ commit, message: "x" }] })).toMatchObject({
        _tag: "Integrated",
      })
      const merge = { repository: user.path, commit, message: "Merge", author }
      const first = yield* checkouts.merge({ ...merge, branch: "main" })
      expect(first).toMatchObject({ _tag: "Merged", mode: "working-tree-reset" })
      expect(yield* checkouts.merge({ ...merge, branch: "main" })).toEqual(first)
      expect(yield* checkouts.merge({ ...merge, branch: "other" })).toMatchObject({ _tag: "Merged", mode: "ref-only" })
      expect(user.read("a.txt")).toBe("b\n")
      yield* checkouts.remove(checkout, { branch: true })
      expect(isSprung()).toBe(false)
      // the trap itself works: git that is asked plainly falls into it
      spawnSync("git", ["status"], { cwd: user.path, stdio: "ignore" })
      expect(isSprung()).toBe(true)
    }),
  )

  it.effect("cannot be named so that git takes it for something else", () =>
    Effect.gen(function* () {
      const user = makeRepository(join(folder.path, "-c core.fsmonitor=x; $(touch y)"))
      const checkouts = yield* Checkouts
      const checkout = yield* checkouts.prepare({ runId: "named", repository: user.path, base: "main" })
      writeFileSync(join(checkout.path, "a.txt"), "b\n")
      const { commit } = yield* checkouts.commit(checkout, "--amend", author)
      expect(user.head("svc/named")).toBe(commit)
      for (const branch of [
        "--upload-pack=x",
        "-x",
        "a..b",
        "x:y",
        "refs/heads/../../config",
        "a\nb",
        "@{-1}",
        "main^{tree}",
      ]) {
        expect((yield* Effect.flip(checkouts.branchHead(user.path, branch))).kind).toBe("invalid")
        expect((yield* Effect.flip(checkouts.prepare({ runId: "x", repository: user.path, base: branch }))).kind).toBe(
          "invalid",
        )
      }
      for (const name of ["", "<>", "a\nauthor x <y> 1 +0000", "a<b>"]) {
        writeFileSync(join(checkout.path, "a.txt"), `${name}!\n`)
        yield* checkouts.commit(checkout, "\0x\n", { name, email: name })
      }
      expect(user.git("fsck", "--strict")).toBe("")
      expect(user.git("log", "--format=%an", "svc/named").split("\n")).toHaveLength(6)
    }),
  )

  /** Writes an object as it is, without the checks of git. */
  const raw = (user: TestRepository, type: string, content: Uint8Array): string =>
    execFileSync("git", ["hash-object", "-w", "-t", type, "--literally", "--stdin"], {
      cwd: user.path,
      input: content,
      encoding: "utf8",
    }).trim()
  const entry = (mode: string, name: string, id: string) =>
    Buffer.concat([Buffer.from(`${mode} ${name}\0`), Buffer.from(id, "hex")])
  const trees: ReadonlyArray<
    readonly [name: string, make: (user: TestRepository, blob: string) => string, kind: RegExp]
  > = [
    [
      "eleven objects and ten billion files",
      (user, blob) => {
        let id = blob
        for (let depth = 0; depth < 10; depth++) {
          id = raw(
            user,
            "tree",
            Buffer.concat(Array.from({ length: 10 }, (_, at) => entry(depth === 0 ? "100644" : "40000", `n${at}`, id))),
          )
        }
        return id
      },
      /too_large/,
    ],
    [
      "a .git folder",
      (user, blob) => raw(user, "tree", entry("40000", ".git", raw(user, "tree", entry("100644", "config", blob)))),
      /unavailable|invalid/,
    ],
    [
      "a .GIT folder",
      (user, blob) => raw(user, "tree", entry("40000", ".GIT", raw(user, "tree", entry("100644", "config", blob)))),
      /unavailable|invalid/,
    ],
    [
      "a way up",
      (user, blob) => raw(user, "tree", entry("40000", "..", raw(user, "tree", entry("100644", "escaped", blob)))),
      /unavailable|invalid/,
    ],
    [
      "a slash in a name",
      (user, blob) => raw(user, "tree", entry("100644", "../escaped", blob)),
      /unavailable|invalid/,
    ],
    [
      "a file below a link",
      (user, blob) => {
        const link = raw(user, "blob", Buffer.from(folder.path))
        return raw(
          user,
          "tree",
          Buffer.concat([
            entry("120000", "l", link),
            entry("40000", "l", raw(user, "tree", entry("100644", "escaped", blob))),
          ]),
        )
      },
      /unavailable|invalid|done/,
    ],
    [
      "a file that is missing",
      (user) => raw(user, "tree", entry("100644", "x", "12".repeat(20))),
      /unavailable|invalid/,
    ],
  ]
  for (const [at, [name, make, kind]] of trees.entries()) {
    it.effect(`is refused with a tree of ${name}`, () =>
      Effect.gen(function* () {
        const user = makeRepository(join(folder.path, `tree-${at}`))
        const tree = make(user, user.head("main:a.txt"))
        const head = user.head("main")
        const text = `tree ${tree}\nparent ${head}\nauthor a <a> 1 +0000\ncommitter a <a> 1 +0000\n\nx\n`
        const commit = raw(user, "commit", Buffer.from(text))
        user.git("update-ref", "refs/heads/hostile", commit)
        const checkouts = yield* Checkouts
        const prepared = checkouts.prepare({ runId: `tree-${at}`, repository: user.path, base: "hostile" })
        expect(
          yield* Effect.match(prepared, { onFailure: (failure) => failure.kind, onSuccess: () => "done" }),
        ).toMatch(kind)
        const merge = { repository: user.path, branch: "main", commit, message: "x", author }
        const merged = yield* Effect.result(checkouts.merge(merge))
        if (merged._tag === "Success") expect(merged.success._tag).not.toBe("Merged")
        expect(user.head("main")).toBe(head)
        expect(user.git("status", "--porcelain")).toBe("")
        expect(existsSync(join(folder.path, "escaped"))).toBe(false)
      }),
    )
  }
})
