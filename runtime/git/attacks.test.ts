/** What agents try. Whatever git would start for them springs a trap. */
import { execFileSync, spawn, spawnSync } from "node:child_process"
import { mkdirSync, rmSync, symlinkSync, truncateSync, unlinkSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { expect, layer } from "@effect/vitest"
import { Effect } from "effect"
import { afterAll } from "vitest"
import { type Checkout, Checkouts, type Snapshot } from "#core/ports/checkouts.ts"
import { checkoutsIn, gitAt, makeFolder, makeRepository } from "#runtime/git/repository-of-test.ts"
import { setTrap } from "#runtime/git/trap-of-test.ts"

const folder = makeFolder()
afterAll(folder.remove)
const author = { name: "Ada", email: "ada@example.org" }
const { evil, isSprung, arm } = setTrap(folder.path)
const user = makeRepository(join(folder.path, "repository"), { "a.txt": "a\n", "folder/b.txt": "b\n" })
const secret = join(folder.path, "secret.txt")
writeFileSync(secret, "canary-7f3a\n")

const armedRepository = (path: string, bare = false): void => {
  mkdirSync(path, { recursive: true })
  gitAt(path, "init", "--quiet", ...(bare ? ["--bare"] : []))
  arm(bare ? path : join(path, ".git"))
}

interface After {
  readonly checkout: Checkout
  readonly diff: string
  readonly committed: Snapshot
  readonly paths: ReadonlyArray<string>
}
interface Attack {
  readonly name: string
  readonly make: (path: string) => void
  readonly holds?: (after: After) => void
  /** The commit is refused so. */
  readonly refused?: string
}

const write = (path: string, content: string | Uint8Array): void => {
  mkdirSync(join(path, ".."), { recursive: true })
  writeFileSync(path, content)
}
/** A repository that git would keep as a link to its commit. */
const committedRepository = (path: string): void => {
  mkdirSync(path, { recursive: true })
  gitAt(path, "init", "--quiet")
  write(join(path, "inside.txt"), "inside\n")
  gitAt(path, "add", "-A")
  gitAt(path, "commit", "--quiet", "-m", "inside")
  arm(join(path, ".git"))
}

const attacks: ReadonlyArray<Attack> = [
  {
    name: "a git directory in place of the file",
    make: (path) => {
      unlinkSync(join(path, ".git"))
      armedRepository(path)
    },
  },
  {
    name: "a .git file that names a hostile git directory",
    make: (path) => {
      armedRepository(join(path, "..", "elsewhere-1"))
      write(join(path, ".git"), `gitdir: ${join(path, "..", "elsewhere-1/.git")}\n`)
    },
  },
  {
    name: "a .git link to a hostile git directory",
    make: (path) => {
      unlinkSync(join(path, ".git"))
      armedRepository(join(path, "..", "elsewhere-2"))
      symlinkSync(join(path, "..", "elsewhere-2/.git"), join(path, ".git"))
    },
  },
  { name: "no .git at all", make: (path) => unlinkSync(join(path, ".git")) },
  {
    name: "a repository inside with commits: its files are kept, as files",
    make: (path) => committedRepository(join(path, "sub")),
    holds: ({ paths, checkout }) => {
      expect(paths).toContain("sub/inside.txt")
      expect(paths.some((name) => name.includes(".git/"))).toBe(false)
      expect(user.git("ls-tree", "-r", checkout.branch)).not.toContain("160000")
    },
  },
  {
    name: "a repository inside without commits",
    make: (path) => {
      armedRepository(join(path, "sub"))
      write(join(path, "sub/new.txt"), "new\n")
    },
    holds: ({ paths }) => expect(paths).toContain("sub/new.txt"),
  },
  {
    name: "repositories inside of repositories",
    make: (path) => {
      committedRepository(join(path, "one"))
      committedRepository(join(path, "one/two"))
      committedRepository(join(path, "one/two/three"))
    },
    holds: ({ paths }) => expect(paths).toContain("one/two/three/inside.txt"),
  },
  {
    name: "a repository in place of a tracked folder",
    make: (path) => committedRepository(join(path, "folder")),
    holds: ({ paths }) => expect(paths).toEqual(expect.arrayContaining(["folder/b.txt", "folder/inside.txt"])),
  },
  {
    name: "a bare repository inside",
    make: (path) => armedRepository(join(path, "sub"), true),
    holds: ({ paths }) => expect(paths).toEqual(expect.arrayContaining(["sub/HEAD", "sub/config"])),
  },
  { name: "a bare repository at the top", make: (path) => armedRepository(path, true) },
  {
    name: "a linked .git file inside",
    make: (path) => {
      armedRepository(join(path, "..", "elsewhere-3"))
      write(join(path, "sub/.git"), `gitdir: ${join(path, "..", "elsewhere-3/.git")}\n`)
      write(join(path, "sub/x.txt"), "x\n")
    },
    holds: ({ paths }) => expect(paths).toContain("sub/x.txt"),
  },
  {
    name: "attributes that name filters, drivers and converters",
    make: (path) => {
      write(
        join(path, ".gitattributes"),
        "* filter=evil diff=evil merge=evil text eol=crlf ident working-tree-encoding=UTF-16\n",
      )
      write(join(path, "a.txt"), "$Id$\r\nchanged\n")
      unlinkSync(join(path, ".git"))
      armedRepository(path)
    },
    holds: ({ checkout }) =>
      expect(
        execFileSync("git", ["cat-file", "blob", `${checkout.branch}:a.txt`], { cwd: user.path, encoding: "utf8" }),
      ).toBe("$Id$\r\nchanged\n"),
  },
  {
    name: "attributes that would hide a change from the review",
    make: (path) => {
      write(join(path, ".gitattributes"), "* -diff binary\n")
      write(join(path, "a.txt"), "hidden\n")
    },
    holds: ({ diff }) => expect(diff).toContain("+hidden"),
  },
  {
    name: "large-file pointers",
    make: (path) => {
      write(join(path, ".gitattributes"), "*.bin filter=lfs diff=lfs merge=lfs -text\n")
      write(join(path, "x.bin"), "version https://git-lfs.github.com/spec/v1\n")
    },
    holds: ({ paths }) => expect(paths).toContain("x.bin"),
  },
  {
    name: "submodules that would be fetched by a command",
    make: (path) => {
      write(
        join(path, ".gitmodules"),
        `[submodule "x"]\n\tpath = sub\n\turl = ext::${evil}\n\tupdate = !${evil}\n\tbranch = --upload-pack=${evil}\n`,
      )
      committedRepository(join(path, "sub"))
    },
    refused: "invalid",
  },
  {
    name: "submodules that look harmless",
    make: (path) => {
      write(join(path, ".gitmodules"), '[submodule "x"]\n\tpath = sub\n\turl = https://example.org/x.git\n')
      committedRepository(join(path, "sub"))
    },
    holds: ({ paths }) => expect(paths).toEqual(expect.arrayContaining([".gitmodules", "sub/inside.txt"])),
  },
  {
    name: "a home folder's configuration in the tree",
    make: (path) => {
      write(join(path, ".gitconfig"), `[core]\n\tfsmonitor = ${evil}\n`)
      write(join(path, ".config/git/config"), `[core]\n\tfsmonitor = ${evil}\n`)
    },
    holds: ({ paths }) => expect(paths).toContain(".gitconfig"),
  },
  {
    name: "rules and attributes that are links to a secret",
    make: (path) => {
      symlinkSync(secret, join(path, ".gitignore"))
      symlinkSync(secret, join(path, ".gitattributes"))
    },
    refused: "invalid",
  },
  { name: "a link to a secret", make: (path) => symlinkSync(secret, join(path, "link")), refused: "invalid" },
  {
    name: "a link that climbs out",
    make: (path) => symlinkSync("../../x", join(path, "folder/link")),
    refused: "invalid",
  },
  {
    name: "a tracked folder that became a link to a folder of secrets",
    make: (path) => {
      rmSync(join(path, "folder"), { recursive: true })
      mkdirSync(join(path, "..", "secrets"))
      write(join(path, "..", "secrets/b.txt"), "canary-7f3a\n")
      symlinkSync("../secrets", join(path, "folder"))
    },
    refused: "invalid",
  },
  {
    name: "pipes, sockets and devices",
    make: (path) => {
      execFileSync("mkfifo", [join(path, "pipe")])
      unlinkSync(join(path, "a.txt"))
      execFileSync("mkfifo", [join(path, "a.txt")])
      const leaveSocket = "require('net').createServer().listen('s', () => process.kill(process.pid, 'SIGKILL'))"
      spawnSync(process.execPath, ["-e", leaveSocket], { cwd: path })
    },
    holds: ({ paths }) => expect(paths).toEqual(["folder/b.txt"]),
  },
  {
    name: "names with line feeds, quotes, dashes, magic and bytes that are no text",
    make: (path) => {
      for (const name of odd) write(join(path, name), "odd\n")
      writeFileSync(Buffer.concat([Buffer.from(`${path}/`), Buffer.from([0x66, 0xff, 0xfe])]), "bytes\n")
    },
    holds: ({ paths, checkout }) => {
      expect(paths).toEqual(expect.arrayContaining([...odd]))
      expect(user.git("-c", "core.quotePath=true", "ls-tree", "-r", "--name-only", checkout.branch)).toContain(
        '"f\\377\\376"',
      )
    },
  },
  {
    name: "names that are .git on other systems",
    make: (path) => {
      for (const name of [
        ".GIT/config",
        "git~1/config",
        ".git /x",
        ".git./x",
        ".git::$INDEX_ALLOCATION/x",
        ".g\u200cit/x",
      ]) {
        write(join(path, name), "x\n")
      }
      write(join(path, "kept.txt"), "kept\n")
    },
    holds: ({ paths }) => expect(paths).toEqual(["a.txt", "folder/b.txt", "kept.txt"]),
  },
  {
    name: "a file that is too large",
    make: (path) => {
      write(join(path, "large"), "")
      truncateSync(join(path, "large"), 104_857_601)
    },
    refused: "too_large",
  },
  {
    name: "repositories nested without end",
    make: (path) => {
      for (let depth = 1; depth <= 18; depth++) {
        write(join(path, "n/".repeat(depth), ".git/HEAD"), "ref: refs/heads/main\n")
        mkdirSync(join(path, "n/".repeat(depth), ".git/objects"))
        mkdirSync(join(path, "n/".repeat(depth), ".git/refs"))
        write(join(path, "n/".repeat(depth), "x"), "x\n")
      }
    },
    refused: "too_large",
  },
]
const odd = [
  "line\nfeed",
  'quo"te',
  "--upload-pack=x",
  "-rf",
  "tab\tname",
  "back\\slash",
  "ünï/cödé",
  ":(exclude)*",
  ":!x",
  "*",
  " ",
  "$(touch x)",
  "a\u001b[31m",
  "%s",
  "#x",
  "-",
]

layer(checkoutsIn(join(folder.path, "data")), { excludeTestServices: true })("an agent", (it) => {
  for (const [at, { name, make, holds, refused }] of attacks.entries()) {
    it.effect(`gains nothing by ${name}`, () =>
      Effect.gen(function* () {
        // all begin at one commit, and each ends in a branch of its own, checked out in the user's tree
        user.git("checkout", "--quiet", "--force", "-B", `target-${at}`, "main")
        const checkouts = yield* Checkouts
        const checkout = yield* checkouts.prepare({ runId: `run-${at}`, repository: user.path, base: "main" })
        make(checkout.path)
        const seen = Effect.gen(function* () {
          yield* checkouts.files(checkout, "all")
          yield* checkouts.tree(checkout)
          yield* checkouts.fileDiff(checkout, "a.txt").pipe(Effect.catchTag("CheckoutFailed", () => Effect.void))
          return yield* checkouts.diff(checkout, 1_000_000)
        })
        const diff = refused === "too_large" ? (yield* Effect.flip(seen)).kind : yield* seen
        expect(diff).not.toContain("canary")
        if (refused === "too_large") expect(diff).toBe(refused)
        if (refused !== undefined) {
          expect((yield* Effect.flip(checkouts.commit(checkout, "attack", author))).kind).toBe(refused)
          expect(user.head(checkout.branch)).toBe(user.head("main"))
        } else {
          const committed = yield* checkouts.commit(checkout, "attack", author)
          expect(yield* checkouts.snapshot(checkout)).toEqual(committed)
          const listed = user.git("-c", "core.quotePath=false", "ls-tree", "-r", "-z", "--name-only", committed.commit)
          holds?.({ checkout, diff, committed, paths: listed.split("\0").slice(0, -1) })
          expect(user.git("fsck")).not.toMatch(/error|missing/)
          const merged = yield* checkouts.merge({
            repository: user.path,
            branch: `target-${at}`,
            commit: committed.commit,
            message: "Merge",
            author,
          })
          expect(merged).toMatchObject({ _tag: "Merged", mode: "working-tree-reset" })
        }
        expect(isSprung()).toBe(false)
      }),
    )
  }

  it.effect("gains nothing by exchanging a file for a link while it is read", () =>
    Effect.gen(function* () {
      const checkouts = yield* Checkouts
      const checkout = yield* checkouts.prepare({ runId: "racing", repository: user.path, base: "main" })
      mkdirSync(join(checkout.path, "..", "secrets-racing"))
      write(join(checkout.path, "..", "secrets-racing/b.txt"), "canary-7f3a\n")
      const script = `trap exit TERM; while :; do ln -sf ${secret} l; mv -T l a.txt; echo x > x; mv x a.txt; mv -T folder f 2>/dev/null; ln -sfn ../secrets-racing folder; rm folder; mv -T f folder; echo y >> folder/b.txt; done`
      yield* Effect.acquireRelease(
        Effect.sync(() => spawn("sh", ["-c", script], { cwd: checkout.path, stdio: "ignore" })),
        (agent) =>
          Effect.sync(() => agent.kill("SIGKILL")).pipe(
            Effect.andThen(checkouts.remove(checkout, { branch: true })),
            Effect.orDie,
          ),
      )
      for (let times = 0; times < 15; times++) {
        const diff = yield* checkouts.diff(checkout, 1_000_000).pipe(Effect.orElseSucceed(() => ""))
        expect(diff).not.toContain("canary")
      }
    }),
  )
})
