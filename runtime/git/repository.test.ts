import { execFileSync } from "node:child_process"
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { expect, layer } from "@effect/vitest"
import { Effect } from "effect"
import { afterAll } from "vitest"
import { Repository } from "#core/ports/repository.ts"
import { repositoryLayer } from "#runtime/git/repository.ts"

const root = realpathSync(mkdtempSync(join(tmpdir(), "svc-git-")))
afterAll(() => rmSync(root, { recursive: true, force: true }))

const folder = (name: string): string => {
  mkdirSync(join(root, name), { recursive: true })
  return join(root, name)
}

const repository = (name: string): string => {
  const path = folder(name)
  execFileSync("git", ["init", "--quiet", "--initial-branch=trunk", path])
  return path
}

const inspect = (path: string) => Effect.flatMap(Repository, (disk) => disk.inspect(path))

layer(repositoryLayer, { excludeTestServices: true })("a repository on the disk", (it) => {
  it.effect("is known with its branch, also before its first commit and through a link", () =>
    Effect.gen(function* () {
      const path = repository("one")
      expect(yield* inspect(path)).toEqual({ realPath: path, isRepository: true, defaultBranch: "trunk" })
      symlinkSync(path, join(root, "link"))
      expect((yield* inspect(join(root, "link"))).realPath).toBe(path)
    }),
  )

  it.effect("is not a folder inside of one, a plain folder, a bare one, a file or nothing", () =>
    Effect.gen(function* () {
      const inside = join(repository("two"), "sub")
      mkdirSync(inside)
      const bare = folder("bare")
      execFileSync("git", ["init", "--quiet", "--bare", bare])
      writeFileSync(join(root, "file"), "")
      for (const path of [inside, folder("plain"), bare]) expect((yield* inspect(path)).isRepository).toBe(false)
      for (const path of [join(root, "file"), join(root, "none")]) {
        expect(yield* inspect(path)).toEqual({ realPath: null, isRepository: false, defaultBranch: null })
      }
    }),
  )

  it.effect("has no branch where none is checked out", () =>
    Effect.gen(function* () {
      const path = repository("detached")
      const git = (...args: ReadonlyArray<string>) =>
        execFileSync("git", ["-C", path, "-c", "user.name=a", "-c", "user.email=a@example.org", ...args])
      git("commit", "--quiet", "--allow-empty", "-m", "one")
      git("checkout", "--quiet", "--detach")
      expect(yield* inspect(path)).toEqual({ realPath: path, isRepository: true, defaultBranch: null })
    }),
  )

  it.effect("runs nothing that its configuration names", () =>
    Effect.gen(function* () {
      const path = repository("hostile")
      const script = join(root, "script")
      writeFileSync(script, `#!/bin/sh\ntouch ${join(root, "ran")}\n`)
      chmodSync(script, 0o755)
      for (const key of ["core.fsmonitor", "core.sshCommand", "core.pager", "diff.external", "alias.rev-parse"]) {
        execFileSync("git", ["-C", path, "config", key, key.startsWith("alias") ? `!${script}` : script])
      }
      expect((yield* inspect(path)).isRepository).toBe(true)
      expect(existsSync(join(root, "ran"))).toBe(false)
    }),
  )

  it.effect("is looked for without a shell: a name is a name", () =>
    Effect.gen(function* () {
      const path = repository("a b; touch $(x) --help")
      expect((yield* inspect(path)).isRepository).toBe(true)
    }),
  )
})
