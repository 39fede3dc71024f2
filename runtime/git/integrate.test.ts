import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { expect, layer } from "@effect/vitest"
import { Effect } from "effect"
import { afterAll } from "vitest"
import { Checkouts } from "#core/ports/checkouts.ts"
import { checkoutsIn, makeFolder, makeRepository, type TestRepository } from "#runtime/git/repository-of-test.ts"

const folder = makeFolder()
afterAll(folder.remove)
const author = { name: "Ada", email: "ada@example.org" }

let count = 0
const repository = () =>
  makeRepository(join(folder.path, `repository-${++count}`), { "a.txt": "1\n2\n3\n4\n5\n", "b.txt": "b\n" })

/** A run that writes these files; its commit. */
const work = Effect.fnUntraced(function* (
  user: TestRepository,
  files: Readonly<Record<string, string>>,
  base = "main",
) {
  const checkouts = yield* Checkouts
  const checkout = yield* checkouts.prepare({ runId: `run-${++count}`, repository: user.path, base })
  for (const [file, content] of Object.entries(files)) writeFileSync(join(checkout.path, file), content)
  const { commit } = yield* checkouts.commit(checkout, "work", author)
  return commit
})

const integrate = (
  user: TestRepository,
  commits: ReadonlyArray<string>,
  expected: string | null = null,
  base = "main",
) =>
  Effect.flatMap(Checkouts, (checkouts) =>
    checkouts.integrate({
      repository: user.path,
      base,
      branch: "svc/integration/plan",
      expected,
      commits: commits.map((commit, index) => ({ commit, message: `Merge ${index}` })),
      author,
    }),
  )

layer(checkoutsIn(join(folder.path, "data")), { excludeTestServices: true })("an integration", (it) => {
  it.effect("merges in order onto the base, touches no working tree, and is the same when asked again", () =>
    Effect.gen(function* () {
      const user = repository()
      const one = yield* work(user, { "a.txt": "1!\n2\n3\n4\n5\n" })
      const two = yield* work(user, { "a.txt": "1\n2\n3\n4\n5!\n", "c.txt": "c\n" })
      const result = yield* integrate(user, [one, two])
      expect(result).toEqual({
        _tag: "Integrated",
        commit: user.head("svc/integration/plan"),
        treeHash: user.head("svc/integration/plan^{tree}"),
        settled: [],
      })
      expect(user.git("show", "svc/integration/plan:a.txt")).toBe("1!\n2\n3\n4\n5!")
      expect(user.git("log", "--first-parent", "--format=%s", "svc/integration/plan").split("\n")).toEqual([
        "Merge 1",
        "Merge 0",
        "first",
      ])
      expect(yield* integrate(user, [one, two])).toEqual(result)
      expect(user.git("status", "--porcelain")).toBe("")
      expect(user.git("fsck", "--strict")).toBe("")
    }),
  )

  it.effect("names the first commit that does not fit, and leaves the branch", () =>
    Effect.gen(function* () {
      const user = repository()
      const one = yield* work(user, { "a.txt": "x\n" })
      const two = yield* work(user, { "b.txt": "b!\n" })
      const three = yield* work(user, { "a.txt": "y\n" })
      expect(yield* integrate(user, [one, two, three])).toEqual({ _tag: "Conflict", index: 2, files: ["a.txt"] })
      const checkouts = yield* Checkouts
      expect(yield* checkouts.branchHead(user.path, "svc/integration/plan")).toBe(null)
    }),
  )

  it.effect(
    "settles a conflict with a commit that has all of the others and more, says so, and is the same again",
    () =>
      Effect.gen(function* () {
        const user = repository()
        const one = yield* work(user, { "a.txt": "1\n2!\n3\n4\n5\n", "one.txt": "one\n" })
        const two = yield* work(user, { "a.txt": "1\n2!\n2?\n3\n4\n5\n" })
        const result = yield* integrate(user, [one, two])
        expect(result).toMatchObject({ _tag: "Integrated", settled: [{ index: 1, files: ["a.txt"] }] })
        expect(user.git("show", "svc/integration/plan:a.txt")).toBe("1\n2!\n2?\n3\n4\n5")
        expect(user.git("show", "svc/integration/plan:one.txt")).toBe("one")
        expect(yield* integrate(user, [one, two], user.head("svc/integration/plan"))).toEqual(result)
        expect(user.git("fsck", "--strict")).toBe("")
        // in the other order a line would be lost
        expect(yield* integrate(user, [two, one])).toEqual({ _tag: "Conflict", index: 1, files: ["a.txt"] })
      }),
  )

  it.effect("takes what was built on a settled conflict", () =>
    Effect.gen(function* () {
      const user = repository()
      const one = yield* work(user, { "a.txt": "1\n2!\n3\n4\n5\n" })
      const two = yield* work(user, { "a.txt": "1\n2!\n2?\n3\n4\n5\n" })
      const both = yield* integrate(user, [one, two])
      if (both._tag === "Conflict") return yield* Effect.die("it is settled")
      const three = yield* work(user, { "a.txt": "1\ntwo\n3\n4\n5\n" }, both.commit)
      expect(yield* integrate(user, [one, two, three], both.commit)).toMatchObject({ settled: both.settled })
      expect(user.git("show", "svc/integration/plan:a.txt")).toBe("1\ntwo\n3\n4\n5")
    }),
  )

  it.effect("moves the branch only from where it is expected", () =>
    Effect.gen(function* () {
      const user = repository()
      const one = yield* work(user, { "c.txt": "c\n" })
      const two = yield* work(user, { "d.txt": "d\n" })
      const first = yield* integrate(user, [one])
      const head = user.head("svc/integration/plan")
      expect((yield* Effect.flip(integrate(user, [two]))).kind).toBe("unavailable")
      expect((yield* Effect.flip(integrate(user, [two], user.head("main")))).kind).toBe("unavailable")
      expect(user.head("svc/integration/plan")).toBe(head)
      expect(first).toMatchObject({ commit: head })
      const second = yield* integrate(user, [two], head, head)
      expect(second).toMatchObject({ _tag: "Integrated", commit: user.head("svc/integration/plan") })
      expect(user.git("ls-tree", "--name-only", "svc/integration/plan").split("\n")).toEqual([
        "a.txt",
        "b.txt",
        "c.txt",
        "d.txt",
      ])
    }),
  )

  it.effect("of nothing, or of what is there already, is the base", () =>
    Effect.gen(function* () {
      const user = repository()
      const head = user.head("main")
      expect(yield* integrate(user, [])).toMatchObject({ commit: head })
      expect(yield* integrate(user, [head], head)).toMatchObject({ commit: head })
    }),
  )

  it.effect("needs commits that are there", () =>
    Effect.gen(function* () {
      const user = repository()
      expect((yield* Effect.flip(integrate(user, ["0".repeat(40)]))).kind).toBe("not_found")
      expect((yield* Effect.flip(integrate(user, ["main"]))).kind).toBe("invalid")
      expect((yield* Effect.flip(integrate(user, [], null, "none"))).kind).toBe("unknown_branch")
    }),
  )
})
