/** A service that is root, and a repository that is not its own: nothing in it may become root's. */
import { execFileSync } from "node:child_process"
import { readdirSync, rmSync, statSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { Effect } from "effect"
import { afterAll, expect, it } from "vitest"
import { Checkouts } from "#core/ports/checkouts.ts"
import { checkoutsIn, makeFolder, makeRepository } from "#runtime/git/repository-of-test.ts"

const folder = makeFolder()
afterAll(folder.remove)
const somebody = 54_321
const author = { name: "Ada", email: "ada@example.org" }

it.skipIf(process.getuid?.() !== 0)("leaves everything in the repository to its owner", async () => {
  const path = join(folder.path, "repository")
  const user = makeRepository(path, { "a.txt": "a\n", "gone.txt": "gone\n" })
  execFileSync("chmod", ["755", folder.path])
  execFileSync("chown", ["-R", `${somebody}:${somebody}`, path])
  const work = Effect.gen(function* () {
    const checkouts = yield* Checkouts
    const checkout = yield* checkouts.prepare({ runId: "run-1", repository: path, base: "main" })
    writeFileSync(join(checkout.path, "new.txt"), "new\n")
    rmSync(join(checkout.path, "gone.txt"))
    const { commit } = yield* checkouts.commit(checkout, "work", author)
    const spec = { repository: path, branch: "main", commit, message: "Merge", author }
    expect(yield* checkouts.merge(spec)).toMatchObject({ _tag: "Merged", mode: "working-tree-reset" })
    yield* checkouts.remove(checkout, { branch: true })
  })
  await Effect.runPromise(work.pipe(Effect.provide(checkoutsIn(join(folder.path, "data")))))
  const foreign = readdirSync(path, { recursive: true, encoding: "utf8" }).filter(
    (name) => statSync(join(path, name)).uid !== somebody,
  )
  expect(foreign).toEqual([])
  const status = execFileSync("git", ["-c", "safe.directory=*", "-C", path, "status", "--porcelain"], {
    encoding: "utf8",
  })
  expect(status).toBe("")
  expect(user.read("new.txt")).toBe("new\n")
})
