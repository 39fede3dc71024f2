import { execFileSync, spawn } from "node:child_process"
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  rmSync,
  symlinkSync,
  unlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs"
import { join } from "node:path"
import { expect, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { afterAll } from "vitest"
import { Checkouts } from "#core/ports/checkouts.ts"
import {
  checkoutsIn,
  makeFolder,
  makeRepository,
  openRepository,
  type TestRepository,
} from "#runtime/git/repository-of-test.ts"

const folder = makeFolder()
afterAll(folder.remove)
const data = join(folder.path, "data")
const author = { name: "Ada", email: "ada@example.org" }

let count = 0
/** On `main`, with a branch `topic` that changes a.txt, adds new.txt and removes gone.txt. */
const repository = (): TestRepository => {
  const user = makeRepository(join(folder.path, `repository-${++count}`), {
    "a.txt": "a\n",
    "other.txt": "other\n",
    "gone.txt": "gone\n",
  })
  user.git("checkout", "--quiet", "-b", "topic")
  user.write("a.txt", "A\n")
  user.write("new.txt", "new\n")
  rmSync(join(user.path, "gone.txt"))
  user.commit("topic")
  user.git("checkout", "--quiet", "main")
  return user
}

const spec = (user: TestRepository, commit = user.head("topic"), branch = "main") => ({
  repository: user.path,
  branch,
  commit,
  message: "Merge topic",
  author,
})
const merge = (user: TestRepository, commit?: string, branch?: string) =>
  Effect.flatMap(Checkouts, (checkouts) => checkouts.merge(spec(user, commit, branch)))

/** All that a merge that is blocked must leave as it is. */
const stateOf = (user: TestRepository) => ({
  refs: user.git("for-each-ref"),
  status: user.git("status", "--porcelain", "--ignored"),
  index: user.git("ls-files", "-s"),
  files: readdirSync(user.path).sort(),
  content: user.git("diff"),
})

layer(checkoutsIn(data, { Coordinator: { StaleLockThresholdSeconds: 5 } }), { excludeTestServices: true })(
  "a merge",
  (it) => {
    it.effect("takes a clean working tree with it, once", () =>
      Effect.gen(function* () {
        const user = repository()
        const previousHead = user.head("main")
        user.write("untracked.txt", "mine\n")
        const merged = yield* merge(user)
        expect(merged).toEqual({ _tag: "Merged", commit: user.head("main"), previousHead, mode: "working-tree-reset" })
        expect(user.git("status", "--porcelain")).toBe("?? untracked.txt")
        expect([user.read("a.txt"), user.read("new.txt"), existsSync(join(user.path, "gone.txt"))]).toEqual([
          "A\n",
          "new\n",
          false,
        ])
        expect(user.git("log", "-1", "--format=%P|%s|%an", "main")).toBe(
          `${previousHead} ${user.head("topic")}|Merge topic|Ada`,
        )
        expect(yield* merge(user)).toEqual(merged)
        user.write("later.txt", "later\n")
        user.commit("later")
        expect(yield* merge(user)).toEqual(merged)
        expect(user.git("fsck", "--strict")).toBe("")
      }),
    )

    it.effect("moves only the branch where it is not checked out, and remembers that", () =>
      Effect.gen(function* () {
        const user = repository()
        user.git("checkout", "--quiet", "--detach")
        user.write("a.txt", "dirty\n")
        const merged = yield* merge(user)
        expect(merged).toMatchObject({ _tag: "Merged", commit: user.head("main"), mode: "ref-only" })
        expect(user.read("a.txt")).toBe("dirty\n")
        user.git("checkout", "--quiet", "--force", "main")
        expect(yield* merge(user)).toEqual(merged)
      }),
    )

    it.effect("finds a merge that the user made, whichever way", () =>
      Effect.gen(function* () {
        const forward = repository()
        const first = forward.head("main")
        forward.git("merge", "--quiet", "--ff-only", "topic")
        expect(yield* merge(forward)).toMatchObject({ commit: forward.head("topic"), previousHead: first })
        const real = repository()
        real.git("merge", "--quiet", "--no-ff", "topic")
        const commit = real.head("main")
        real.write("later.txt", "later\n")
        real.commit("later")
        expect(yield* merge(real)).toMatchObject({ commit, previousHead: real.head(`${commit}^1`) })
      }),
    )

    it.effect("takes a linked working tree with it", () =>
      Effect.gen(function* () {
        const user = repository()
        user.git("checkout", "--quiet", "topic")
        const linked = openRepository(join(folder.path, `linked-${++count}`))
        user.git("worktree", "add", "--quiet", linked.path, "main")
        expect(yield* merge(user)).toMatchObject({ _tag: "Merged", mode: "working-tree-reset" })
        expect(linked.git("status", "--porcelain")).toBe("")
        expect(linked.read("new.txt")).toBe("new\n")
        rmSync(linked.path, { recursive: true })
        user.git("branch", "--quiet", "more", "main")
        expect(yield* merge(user, user.git("commit-tree", "-p", "main", "-m", "more", "main^{tree}"))).toMatchObject({
          mode: "ref-only",
        })
      }),
    )

    it.effect("tells which files are in conflict, and changes nothing", () =>
      Effect.gen(function* () {
        const user = repository()
        user.write("a.txt", "other\n")
        user.commit("other")
        const before = stateOf(user)
        expect(yield* merge(user)).toMatchObject({ _tag: "Conflict", files: ["a.txt"] })
        const unrelated = user.git("commit-tree", "-m", "unrelated", "main^{tree}")
        expect(yield* merge(user, unrelated)).toMatchObject({ _tag: "Conflict", files: [] })
        expect(stateOf(user)).toEqual(before)
      }),
    )

    const gitFile = (user: TestRepository, name: string) => join(user.path, ".git", name)
    const obstacles: ReadonlyArray<readonly [name: string, make: (user: TestRepository) => void]> = [
      ["a change of a file that the merge changes", (user) => user.write("a.txt", "mine\n")],
      ["a change of another file", (user) => user.write("other.txt", "mine\n")],
      ["a removed file", (user) => unlinkSync(join(user.path, "other.txt"))],
      ["a change of a file that the merge removes", (user) => user.write("gone.txt", "mine\n")],
      ["an executable bit", (user) => execFileSync("chmod", ["+x", join(user.path, "a.txt")])],
      [
        "a file that became a link",
        (user) => {
          unlinkSync(join(user.path, "other.txt"))
          symlinkSync("a.txt", join(user.path, "other.txt"))
        },
      ],
      [
        "a staged change",
        (user) => {
          user.write("other.txt", "mine\n")
          user.git("add", "-A")
        },
      ],
      [
        "a staged new file",
        (user) => {
          user.write("staged.txt", "mine\n")
          user.git("add", "-A")
        },
      ],
      [
        "an intent to add",
        (user) => {
          user.write("intended.txt", "mine\n")
          user.git("add", "-N", "intended.txt")
        },
      ],
      ["a file in the way", (user) => user.write("new.txt", "mine\n")],
      [
        "an ignored file in the way",
        (user) => {
          appendFileSync(gitFile(user, "info/exclude"), "new.txt\n")
          user.write("new.txt", "mine\n")
        },
      ],
      ["a link in the way", (user) => symlinkSync("/etc/hostname", join(user.path, "new.txt"))],
      ["a folder in the way", (user) => user.write("new.txt/inside", "mine\n")],
      ["a merge under way", (user) => writeFileSync(gitFile(user, "MERGE_HEAD"), `${user.head("topic")}\n`)],
      [
        "a cherry-pick under way",
        (user) => writeFileSync(gitFile(user, "CHERRY_PICK_HEAD"), `${user.head("topic")}\n`),
      ],
      ["a revert under way", (user) => writeFileSync(gitFile(user, "REVERT_HEAD"), `${user.head("topic")}\n`)],
      ["a bisection under way", (user) => user.git("bisect", "start")],
      [
        "a rebase of the branch under way",
        (user) => {
          user.git("checkout", "--quiet", "--detach")
          mkdirSync(gitFile(user, "rebase-merge"))
          writeFileSync(gitFile(user, "rebase-merge/head-name"), "refs/heads/main\n")
        },
      ],
      ["a new lock of the index", (user) => writeFileSync(gitFile(user, "index.lock"), "")],
      [
        "two working trees",
        (user) => user.git("worktree", "add", "--quiet", "-f", join(folder.path, `twice-${++count}`), "main"),
      ],
      [
        "a sparse checkout",
        (user) => {
          writeFileSync(gitFile(user, "info/sparse-checkout"), "/*\n!/other.txt\n")
          user.git("config", "core.sparseCheckout", "true")
          user.git("read-tree", "-mu", "HEAD")
        },
      ],
    ]
    for (const [name, make] of obstacles) {
      it.effect(`is blocked by ${name}, and changes nothing`, () =>
        Effect.gen(function* () {
          const user = repository()
          make(user)
          const before = stateOf(user)
          const result = yield* merge(user)
          expect(result).toMatchObject({ _tag: "Blocked", reason: expect.stringMatching(/\S/) })
          expect(stateOf(user)).toEqual(before)
        }),
      )
    }

    it.effect("is not blocked by a file that already is what the merge brings", () =>
      Effect.gen(function* () {
        const user = repository()
        user.write("new.txt", "new\n")
        user.write("a.txt", "A\n")
        unlinkSync(join(user.path, "gone.txt"))
        expect(yield* merge(user)).toMatchObject({ _tag: "Merged" })
        expect(user.git("status", "--porcelain")).toBe("")
      }),
    )

    it.effect("exchanges files and folders, and keeps the line ends that the user wants", () =>
      Effect.gen(function* () {
        const user = makeRepository(join(folder.path, `repository-${++count}`), {
          file: "file\n",
          "folder/inside": "inside\n",
          ".gitattributes": "*.crlf text eol=crlf\n",
          "a.crlf": "a\n",
        })
        user.git("checkout", "--quiet", "-b", "topic")
        rmSync(join(user.path, "file"))
        rmSync(join(user.path, "folder"), { recursive: true })
        user.write("file/inside", "inside\n")
        user.write("folder", "file\n")
        user.write("a.crlf", "a\r\nb\r\n")
        user.commit("topic")
        user.git("checkout", "--quiet", "main")
        user.git("update-index", "--split-index")
        expect(yield* merge(user)).toMatchObject({ _tag: "Merged" })
        expect(user.git("status", "--porcelain")).toBe("")
        expect([user.read("file/inside"), user.read("folder"), user.read("a.crlf")]).toEqual([
          "inside\n",
          "file\n",
          "a\r\nb\r\n",
        ])
      }),
    )

    it.effect("removes a lock that was left behind, and not one that somebody holds", () =>
      Effect.gen(function* () {
        const user = repository()
        const lock = gitFile(user, "index.lock")
        writeFileSync(lock, "")
        utimesSync(lock, 1, 1)
        const holder = spawn("sh", ["-c", "exec 3<'.git/index.lock'; echo ready; read x"], { cwd: user.path })
        yield* Effect.promise(() => new Promise((resolve) => holder.stdout.once("data", resolve)))
        expect(yield* merge(user)).toMatchObject({ _tag: "Blocked" })
        holder.kill("SIGKILL")
        yield* Effect.promise(() => new Promise((resolve) => holder.once("close", resolve)))
        // a git that waits for an editor has closed the lock it holds
        const waiting = spawn("sh", ["-c", "git cat-file --batch; exit"], { cwd: user.path })
        waiting.stdin.write("HEAD\n")
        yield* Effect.promise(() => new Promise((resolve) => waiting.stdout.once("data", resolve)))
        const editing = yield* merge(user)
        waiting.stdin.end()
        yield* Effect.promise(() => new Promise((resolve) => waiting.once("close", resolve)))
        expect(editing).toMatchObject({ _tag: "Blocked" })
        expect(yield* merge(user)).toMatchObject({ _tag: "Merged" })
        expect(existsSync(lock)).toBe(false)
      }),
    )

    it.effect("loses no push that comes between, and merges each commit once, whoever asks", () =>
      Effect.gen(function* () {
        const user = repository()
        user.git("checkout", "--quiet", "--detach")
        const base = user.head("main")
        const topics = ["one", "two", "three", "four"].map((name) => {
          const blob = execFileSync("git", ["hash-object", "-w", "--stdin"], {
            cwd: user.path,
            input: name,
            encoding: "utf8",
          }).trim()
          const tree = execFileSync("git", ["mktree"], {
            cwd: user.path,
            input: `${user.git("ls-tree", base)}\n100644 blob ${blob}\t${name}.txt\n`,
            encoding: "utf8",
          }).trim()
          return user.git("commit-tree", "-p", base, "-m", name, tree)
        })
        // somebody who pushes as fast as they can, each commit on top of what is there
        const pushes = 40
        const script = `i=0; while [ $i -lt ${pushes} ]; do h=$(git rev-parse main); c=$(git commit-tree -p $h -m push-$i $h^{tree}); git update-ref refs/heads/main $c $h 2>/dev/null && i=$((i+1)); done`
        const pusher = spawn("sh", ["-c", script], {
          cwd: user.path,
          env: {
            PATH: process.env.PATH,
            GIT_AUTHOR_NAME: "p",
            GIT_AUTHOR_EMAIL: "p",
            GIT_COMMITTER_NAME: "p",
            GIT_COMMITTER_EMAIL: "p",
          },
        })
        const pushed = new Promise((resolve) => pusher.once("close", resolve))
        const replica = yield* Layer.build(Layer.fresh(checkoutsIn(join(folder.path, "replica"))))
        const ask = (commit: string) => {
          const here = merge(user, commit)
          return Effect.all([here, Effect.provide(here, replica)], { concurrency: 2 })
        }
        const results = yield* Effect.forEach(topics, ask, { concurrency: 2 })
        yield* Effect.promise(() => pushed)
        for (const [one, two] of results) {
          expect(one).toMatchObject({ _tag: "Merged", mode: "ref-only" })
          expect(two).toEqual(one)
        }
        const subjects = user.git("log", "--first-parent", "--format=%s", `${base}..main`).split("\n")
        expect(subjects.filter((subject) => subject.startsWith("push-"))).toHaveLength(pushes)
        expect(subjects.filter((subject) => subject === "Merge topic")).toHaveLength(topics.length)
        expect(user.git("ls-tree", "--name-only", "main").split("\n")).toEqual(
          expect.arrayContaining(["one.txt", "four.txt"]),
        )
      }),
    )

    it.effect("needs a branch and a commit that are there", () =>
      Effect.gen(function* () {
        const user = repository()
        const kind = (commit: string, branch: string) =>
          Effect.map(Effect.flip(merge(user, commit, branch)), (error) => error.kind)
        expect(yield* kind(user.head("topic"), "none")).toBe("unknown_branch")
        expect(yield* kind("0".repeat(40), "main")).toBe("not_found")
        expect(yield* kind(user.head("main^{tree}"), "main")).toBe("not_found")
        expect(yield* kind("topic", "main")).toBe("invalid")
        expect(yield* kind(user.head("topic"), "--upload-pack=x")).toBe("invalid")
      }),
    )
  },
)
