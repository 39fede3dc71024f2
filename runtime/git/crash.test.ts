/**
 * A service that is killed (SIGKILL) after each git command of its work in turn: what is there afterwards is
 * whole, and asked again the work comes to its end, once.
 */
import { execFileSync, spawn } from "node:child_process"
import { chmodSync, existsSync, readFileSync, utimesSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { expect, layer } from "@effect/vitest"
import { Effect } from "effect"
import { afterAll } from "vitest"
import { Checkouts } from "#core/ports/checkouts.ts"
import { checkoutsIn, makeFolder, makeRepository } from "#runtime/git/repository-of-test.ts"

const folder = makeFolder()
afterAll(folder.remove)
const data = join(folder.path, "data")
const author = { name: "Ada", email: "ada@example.org" }
const program = fileURLToPath(new URL("crash-of-test.ts", import.meta.url))
const realGit = execFileSync("sh", ["-c", "command -v git"], { encoding: "utf8" }).trim()

/** Milliseconds; each of some twenty services starts in one second, or in several on a busy machine. */
const patience = 180_000

/** A `git` that kills whoever started it when it has done its work for the `last` time. */
const killer = (name: string, last: number): string => {
  const path = join(folder.path, `bin-${name}-${last}`)
  execFileSync("mkdir", [path])
  const count = join(path, "count")
  writeFileSync(count, "0")
  writeFileSync(
    join(path, "git"),
    `#!/bin/sh\n${realGit} "$@"; code=$?\nn=$(($(cat ${count})+1)); echo $n > ${count}\n[ $n = ${last} ] && kill -9 $PPID\nexit $code\n`,
  )
  chmodSync(join(path, "git"), 0o755)
  return path
}

/** Runs the work in a service that is killed after `last` commands; false where it came to its end before. */
const killed = (what: string, input: unknown, last: number): Effect.Effect<boolean> =>
  Effect.callback<boolean>((resume) => {
    const service = spawn(process.execPath, [program, data, what, JSON.stringify(input)], {
      env: { PATH: `${killer(what, last)}:${process.env.PATH}`, NODE_COMPILE_CACHE: join(folder.path, "compiled") },
      stdio: ["ignore", "ignore", "inherit"],
    })
    service.once("close", (status, signal) => {
      resume(
        Effect.sync(() => {
          if (signal !== "SIGKILL") expect(status).toBe(0)
          return signal === "SIGKILL"
        }),
      )
    })
  })

/** `work` is given `first` and the numbers after it, until nothing was killed. Up to `least` at least. */
const untilUnharmed = Effect.fnUntraced(function* <E, R>(
  first: number,
  least: number,
  work: (last: number) => Effect.Effect<boolean, E, R>,
) {
  let last = first
  for (;;) {
    const some = [last, last + 1, last + 2]
    last += some.length
    const harmed = yield* Effect.forEach(some, work, { concurrency: some.length })
    if (harmed.includes(false)) break
  }
  expect(last).toBeGreaterThan(least)
})

layer(checkoutsIn(data), { excludeTestServices: true })("a service that is killed", (it) => {
  it.effect(
    "while it merges leaves all or nothing, and merges once",
    () =>
      // what is before the eighth command only reads
      untilUnharmed(
        8,
        18,
        Effect.fnUntraced(function* (last) {
          const user = makeRepository(join(folder.path, `merge-${last}`), {
            "a.txt": "a\n",
            "b.txt": "b\n",
            "c/d.txt": "d\n",
          })
          user.git("checkout", "--quiet", "-b", "topic")
          execFileSync("sh", ["-c", "echo A > a.txt; rm b.txt; mkdir n; echo n > n/n.txt"], { cwd: user.path })
          user.commit("topic")
          user.git("checkout", "--quiet", "main")
          const input = { repository: user.path, branch: "main", commit: user.head("topic"), message: "Merge", author }
          const before = user.head("main")
          const harmed = yield* killed("merge", input, last)
          expect([before, input.commit]).toContain(
            user.git("log", "-1", "--format=%P", "main").split(" ").at(-1) || before,
          )
          const lock = join(user.path, ".git/index.lock")
          if (existsSync(lock)) utimesSync(lock, 1, 1)
          const checkouts = yield* Checkouts
          const result = yield* checkouts.merge(input)
          expect(result).toEqual({
            _tag: "Merged",
            commit: user.head("main"),
            previousHead: before,
            mode: "working-tree-reset",
          })
          expect(user.git("status", "--porcelain")).toBe("")
          expect(user.git("rev-list", "--count", "--merges", "main")).toBe("1")
          expect(user.read("n/n.txt")).toBe("n\n")
          return harmed
        }),
      ),
    patience,
  )

  it.effect(
    "while it commits loses nothing, and commits once",
    () =>
      untilUnharmed(
        1,
        5,
        Effect.fnUntraced(function* (last) {
          const user = makeRepository(join(folder.path, `commit-${last}`))
          const checkouts = yield* Checkouts
          const place = { runId: `run-${last}`, repository: user.path }
          const checkout = yield* checkouts.prepare({ ...place, base: "main" })
          writeFileSync(join(checkout.path, "work.txt"), "work\n")
          const harmed = yield* killed("commit", { ...place, author }, last)
          const again = yield* checkouts.open(place)
          const { commit } = yield* checkouts.commit(again, "work", author)
          expect(user.head(checkout.branch)).toBe(commit)
          expect(user.git("log", "--format=%s", checkout.branch)).toBe("work\nfirst")
          expect(readFileSync(join(again.path, "work.txt"), "utf8")).toBe("work\n")
          return harmed
        }),
      ),
    patience,
  )

  it.effect(
    "while it prepares a checkout prepares it the next time",
    () =>
      untilUnharmed(
        1,
        5,
        Effect.fnUntraced(function* (last) {
          const user = makeRepository(join(folder.path, `prepare-${last}`))
          const spec = { runId: `prepared-${last}`, repository: user.path, base: "main" }
          const harmed = yield* killed("prepare", spec, last)
          const checkouts = yield* Checkouts
          const checkout = yield* checkouts.prepare(spec)
          expect(readFileSync(join(checkout.path, "a.txt"), "utf8")).toBe("a\n")
          expect(yield* checkouts.snapshot(checkout)).toMatchObject({ commit: user.head("main"), hasChanges: false })
          return harmed
        }),
      ),
    patience,
  )
})
