/** Real git repositories for tests, in temporary folders. */
import { execFileSync } from "node:child_process"
import { mkdirSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { Effect } from "effect"
import { temporaryFolder } from "#test/support/temporary-folder.ts"

const author = { name: "Ada", email: "ada@example.org" }

const environment = {
  PATH: process.env.PATH ?? "/usr/bin:/bin",
  HOME: "/nonexistent",
  GIT_CONFIG_NOSYSTEM: "1",
  GIT_CONFIG_GLOBAL: "/dev/null",
  GIT_AUTHOR_NAME: author.name,
  GIT_AUTHOR_EMAIL: author.email,
  GIT_COMMITTER_NAME: author.name,
  GIT_COMMITTER_EMAIL: author.email,
}

export interface TestRepository {
  readonly path: string
  /** Runs git there; gives what it printed, without the last newline. */
  readonly git: (...args: ReadonlyArray<string>) => string
  /** Writes files into the working tree. */
  readonly write: (files: Readonly<Record<string, string>>) => void
  /** Writes and commits them on the branch that is checked out. */
  readonly commit: (files: Readonly<Record<string, string>>, message?: string) => string
}

/** A repository with one commit of `files` on `main`, removed when the test has ended. */
export const testRepository = (files: Readonly<Record<string, string>> = { "README.md": "# A project\n" }) =>
  Effect.map(Effect.promise(temporaryFolder), (path): TestRepository => {
    const git = (...args: ReadonlyArray<string>): string =>
      execFileSync("git", ["-C", path, ...args], { env: environment, encoding: "utf8" }).trimEnd()
    const write = (written: Readonly<Record<string, string>>) => {
      for (const [name, text] of Object.entries(written)) {
        mkdirSync(dirname(join(path, name)), { recursive: true })
        writeFileSync(join(path, name), text)
      }
    }
    const commit = (written: Readonly<Record<string, string>>, message = "Change") => {
      write(written)
      git("add", "--all")
      git("commit", "--quiet", "--allow-empty", "-m", message)
      return git("rev-parse", "HEAD")
    }
    git("init", "--quiet", "--initial-branch=main")
    commit(files, "Begin")
    return { path, git, write, commit }
  })
