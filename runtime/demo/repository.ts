/** The repository that the agents work on: a small web site with tests, in a real git repository. */
import { execFile } from "node:child_process"
import { cp, mkdir, rm } from "node:fs/promises"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"
import { Effect } from "effect"
import { DemoFailed, messageOf } from "#runtime/demo/failed.ts"

export interface Tested {
  readonly passed: boolean
  readonly count: number
  readonly output: string
}

export interface Repository {
  readonly path: string
  /** Commit of the branch that is worked on, before anything was changed. */
  readonly start: string
  /** What `main` has that it had not at the start: `git diff --stat`. */
  readonly changes: Effect.Effect<string, DemoFailed>
  /** Fails where the working tree is not what `main` holds. */
  readonly test: Effect.Effect<Tested, DemoFailed>
}

const app = fileURLToPath(new URL("app", import.meta.url))

export const branch = "main"

const run = promisify(execFile)

/** Milliseconds that git, or the tests of the web site, may take. */
const limit = 60_000

export const makeRepository = Effect.fn("demo.makeRepository")(function* (folder: string) {
  const path = join(folder, "village-hall")
  const git = (...args: ReadonlyArray<string>) =>
    Effect.tryPromise({
      try: async (signal) => {
        const options = { cwd: path, signal, timeout: limit, env: plainEnvironment() }
        return (await run("git", [...identity, ...args], options)).stdout.trim()
      },
      catch: (cause) => new DemoFailed({ message: `git ${args[0]} does not work: ${problemOf(cause)}` }),
    })
  const written = <A>(work: () => Promise<A>) =>
    Effect.tryPromise({
      try: work,
      catch: (cause) => new DemoFailed({ message: `The web site cannot be written: ${messageOf(cause)}` }),
    })
  yield* written(() => mkdir(path))
  const start = yield* Effect.gen(function* () {
    yield* written(() => cp(app, path, { recursive: true }))
    yield* git("init", "--quiet", `--initial-branch=${branch}`)
    yield* git("add", "--all")
    yield* git("commit", "--quiet", "--message=The web site of the village hall")
    return yield* git("rev-parse", "HEAD")
  }).pipe(Effect.onError(() => Effect.promise(() => rm(path, { recursive: true, force: true }))))
  const test = Effect.gen(function* () {
    if ((yield* git("status", "--porcelain")) !== "" || (yield* git("branch", "--show-current")) !== branch) {
      return yield* new DemoFailed({ message: `The working tree of ${path} is not what ${branch} holds.` })
    }
    return yield* Effect.promise((signal) => npmTest(path, signal))
  })
  return { path, start, changes: git("diff", "--stat", start, branch), test } satisfies Repository
})

/** Whatever the settings of the person's git are. */
const identity = [
  ...["-c", "user.name=svc demo", "-c", "user.email=demo@localhost"],
  ...["-c", "commit.gpgSign=false", "-c", "core.hooksPath=/dev/null", "-c", "core.autocrlf=false"],
]

/** Nothing of a git at work around the demo, such as one that runs it as a hook: its `GIT_DIR` is another repository. */
const plainEnvironment = (): NodeJS.ProcessEnv =>
  Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith("GIT_")))

const problemOf = (cause: unknown): string =>
  cause instanceof Error && "code" in cause && cause.code === "ENOENT"
    ? "git was not found. Install it, and see that PATH has it"
    : messageOf(cause)

const npmTest = (cwd: string, signal: AbortSignal): Promise<Tested> =>
  new Promise((resolve, reject) => {
    const windows = process.platform === "win32"
    // its runner must not take itself for a test of ours
    const { NODE_TEST_CONTEXT: _, ...env } = plainEnvironment()
    execFile("npm", ["test"], { cwd, signal, env, timeout: limit, shell: windows }, (error, stdout, stderr) => {
      if (signal.aborted) return reject(signal.reason)
      const count = Number(/^\W*pass (\d+)$/m.exec(stdout)?.[1] ?? 0)
      resolve({ passed: error === null && count > 0, count, output: `${stdout}\n${stderr}`.trim() })
    })
  })
