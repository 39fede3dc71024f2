/** What agents and repositories try. Whatever git would start for them leaves a mark: there must never be one. */
import { execFileSync, spawn, spawnSync } from "node:child_process"
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  truncateSync,
  unlinkSync,
  writeFileSync,
} from "node:fs"
import { join } from "node:path"
import { expect, layer } from "@effect/vitest"
import { Effect } from "effect"
import { afterAll, beforeAll } from "vitest"
import { type Checkout, Checkouts, type Snapshot } from "#core/ports/checkouts.ts"
import { checkoutsIn, gitAt, makeFolder, makeRepository, type TestRepository } from "#runtime/git/repository-of-test.ts"

const folder = makeFolder()
afterAll(folder.remove)
const author = { name: "Ada", email: "ada@example.org" }
const mark = join(folder.path, "ran")
const evil = join(folder.path, "evil")
const secret = join(folder.path, "secret.txt")
beforeAll(() => {
  writeFileSync(evil, `#!/bin/sh\necho "$0 $*" >> ${mark}\ncat\n`)
  chmodSync(evil, 0o755)
  writeFileSync(secret, "canary-7f3a\n")
})

/** Every setting by which git starts something. */
const settings: ReadonlyArray<readonly [string, string]> = [
  ["core.fsmonitor", evil],
  ["core.hooksPath", join(folder.path, "hooks")],
  ["core.sshCommand", evil],
  ["core.editor", evil],
  ["core.pager", evil],
  ["core.gitProxy", evil],
  ["core.askPass", evil],
  ["core.alternateRefsCommand", evil],
  ["sequence.editor", evil],
  ["diff.external", evil],
  ["diff.evil.textconv", evil],
  ["diff.evil.command", evil],
  ["filter.evil.clean", evil],
  ["filter.evil.smudge", evil],
  ["filter.evil.process", evil],
  ["filter.evil.required", "true"],
  ["merge.evil.driver", `${evil} %A`],
  ["gpg.program", evil],
  ["commit.gpgSign", "true"],
  ["log.showSignature", "true"],
  ["credential.helper", `!${evil}`],
  ["interactive.diffFilter", evil],
  ["uploadpack.packObjectsHook", evil],
  ["trailer.x.command", evil],
  ["alias.diff-tree", `!${evil}`],
  ["alias.ls-files", `!${evil}`],
  ["submodule.recurse", "true"],
  ["protocol.ext.allow", "always"],
  ["remote.origin.url", `ext::${evil}`],
  ["remote.origin.promisor", "true"],
  ["extensions.partialClone", "origin"],
]
const hooks = [
  "applypatch-msg",
  "commit-msg",
  "fsmonitor-watchman",
  "post-checkout",
  "post-commit",
  "post-index-change",
  "post-merge",
  "post-receive",
  "post-rewrite",
  "post-update",
  "pre-auto-gc",
  "pre-commit",
  "pre-merge-commit",
  "pre-push",
  "pre-receive",
  "prepare-commit-msg",
  "proc-receive",
  "push-to-checkout",
  "reference-transaction",
  "sendemail-validate",
  "update",
]

/** Makes a git directory start `evil` wherever it can. */
const arm = (gitDir: string): void => {
  const text = settings.map(([name, value]) => {
    const parts = name.split(".")
    const section = parts.length === 3 ? `[${parts[0]} "${parts[1]}"]` : `[${parts[0]}]`
    return `${section}\n\t${parts.at(-1)} = ${JSON.stringify(value)}\n`
  })
  writeFileSync(join(gitDir, "included"), text.join(""))
  writeFileSync(
    join(gitDir, "config"),
    `${readFileSync(join(gitDir, "config"), "utf8")}\n[include]\n\tpath = included\n`,
  )
  for (const place of [join(gitDir, "hooks"), join(folder.path, "hooks")]) {
    mkdirSync(place, { recursive: true })
    for (const hook of hooks) copyFileSync(evil, join(place, hook))
  }
}
const armedRepository = (path: string, bare = false): void => {
  mkdirSync(path, { recursive: true })
  gitAt(path, "init", "--quiet", ...(bare ? ["--bare"] : []))
  arm(bare ? path : join(path, ".git"))
}

interface After {
  readonly user: TestRepository
  readonly checkout: Checkout
  readonly diff: string
  readonly committed: Snapshot
  readonly paths: ReadonlyArray<string>
}
interface Attack {
  readonly name: string
  readonly make: (path: string, user: TestRepository) => void
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
    holds: ({ paths, user, checkout }) => {
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
    holds: ({ user, checkout }) =>
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
    holds: ({ paths, user, checkout }) => {
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
        const user = makeRepository(join(folder.path, `repository-${at}`), { "a.txt": "a\n", "folder/b.txt": "b\n" })
        const checkouts = yield* Checkouts
        const checkout = yield* checkouts.prepare({ runId: `run-${at}`, repository: user.path, base: "main" })
        make(checkout.path, user)
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
          holds?.({ user, checkout, diff, committed, paths: listed.split("\0").slice(0, -1) })
          expect(user.git("fsck")).not.toMatch(/error|missing/)
          const merged = yield* checkouts.merge({
            repository: user.path,
            branch: "main",
            commit: committed.commit,
            message: "Merge",
            author,
          })
          expect(merged).toMatchObject({ _tag: "Merged" })
        }
        expect(existsSync(mark)).toBe(false)
      }),
    )
  }

  it.effect("gains nothing by exchanging a file for a link while it is read", () =>
    Effect.gen(function* () {
      const user = makeRepository(join(folder.path, "racing"), { "a.txt": "a\n", "folder/b.txt": "b\n" })
      const checkouts = yield* Checkouts
      const checkout = yield* checkouts.prepare({ runId: "racing", repository: user.path, base: "main" })
      mkdirSync(join(checkout.path, "..", "secrets-racing"))
      write(join(checkout.path, "..", "secrets-racing/b.txt"), "canary-7f3a\n")
      const script = `trap exit TERM; while :; do ln -sf ${secret} l; mv -T l a.txt; echo x > x; mv x a.txt; mv -T folder f 2>/dev/null; ln -sfn ../secrets-racing folder; rm folder; mv -T f folder; echo y >> folder/b.txt; done`
      const agent = spawn("sh", ["-c", script], { cwd: checkout.path, stdio: "ignore" })
      for (let times = 0; times < 15; times++) {
        const diff = yield* checkouts.diff(checkout, 1_000_000).pipe(Effect.orElseSucceed(() => ""))
        expect(diff).not.toContain("canary")
      }
      agent.kill("SIGKILL")
      yield* checkouts.remove(checkout, { branch: true })
    }),
  )
})

layer(checkoutsIn(join(folder.path, "data-2")), { excludeTestServices: true })("a repository", (it) => {
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
      expect(existsSync(mark)).toBe(false)
      // the trap itself works: git that is asked plainly falls into it
      spawnSync("git", ["status"], { cwd: user.path, stdio: "ignore" })
      expect(existsSync(mark)).toBe(true)
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
