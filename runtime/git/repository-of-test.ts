/** For tests and benches: repositories of a user, made by the git program as a user would. */
import { execFileSync } from "node:child_process"
import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { Effect, Layer } from "effect"
import type { Checkouts } from "#core/ports/checkouts.ts"
import { Settings, type SettingsInput, settingsForTests } from "#core/settings.ts"
import { checkoutsLayer, checkoutsLayerWhere } from "#runtime/git/checkouts.ts"

export interface TestRepository {
  readonly path: string
  /** Runs git there and gives what it prints, without the last line feed. Throws where it fails. */
  readonly git: (...args: ReadonlyArray<string>) => string
  readonly write: (file: string, content: string | Uint8Array) => void
  readonly read: (file: string) => string
  /** Commits everything; gives the commit. */
  readonly commit: (message: string) => string
  readonly head: (ref: string) => string
}

const environment = {
  PATH: process.env.PATH ?? "/usr/bin:/bin",
  GIT_CONFIG_NOSYSTEM: "1",
  GIT_CONFIG_GLOBAL: "/dev/null",
  GIT_AUTHOR_NAME: "Somebody",
  GIT_AUTHOR_EMAIL: "somebody@example.org",
  GIT_COMMITTER_NAME: "Somebody",
  GIT_COMMITTER_EMAIL: "somebody@example.org",
}

/** Runs git in any folder. */
export const gitAt = (folder: string, ...args: ReadonlyArray<string>): string =>
  execFileSync("git", args, {
    cwd: folder,
    env: environment,
    encoding: "utf8",
    stdio: ["ignore", "pipe", "pipe"],
  }).replace(/\n+$/, "")

export const openRepository = (path: string): TestRepository => {
  const git = (...args: ReadonlyArray<string>) => gitAt(path, ...args)
  return {
    path,
    git,
    write: (file, content) => {
      mkdirSync(dirname(join(path, file)), { recursive: true })
      writeFileSync(join(path, file), content)
    },
    read: (file) => readFileSync(join(path, file), "utf8"),
    commit: (message) => {
      git("add", "-A")
      git("commit", "--quiet", "--allow-empty", "-m", message)
      return git("rev-parse", "HEAD")
    },
    head: (ref) => git("rev-parse", "--verify", ref),
  }
}

/** On branch `main`, with one commit of these files. */
export const makeRepository = (
  path: string,
  files: Readonly<Record<string, string>> = { "a.txt": "a\n" },
): TestRepository => {
  mkdirSync(path, { recursive: true })
  gitAt(path, "init", "--quiet", "--initial-branch=main")
  const repository = openRepository(path)
  for (const [file, content] of Object.entries(files)) repository.write(file, content)
  repository.commit("first")
  return repository
}

export const makeFolder = (): { readonly path: string; readonly remove: () => void } => {
  const path = realpathSync(mkdtempSync(join(tmpdir(), "svc-git-")))
  return { path, remove: () => rmSync(path, { recursive: true, force: true }) }
}

/** Checkouts with their data in `folder`, by overlays where this machine can. */
export const checkoutsIn = (folder: string, settings: SettingsInput = {}) => provide(checkoutsLayer, folder, settings)

/** The slower way, that works everywhere. */
export const plainCheckoutsIn = (folder: string) =>
  provide(
    checkoutsLayerWhere(() => Effect.succeed(false)),
    folder,
    {},
  )

const provide = (layer: Layer.Layer<Checkouts, never, Settings>, folder: string, settings: SettingsInput) =>
  layer.pipe(Layer.provide(Layer.succeed(Settings, settingsForTests({ ...settings, Data: { Directory: folder } }))))
