/** Attacks on the border of the checkout. Each is tried by every tool that takes a path; none may see or change anything outside. */
import { execFileSync, spawn } from "node:child_process"
import {
  chmodSync,
  existsSync,
  linkSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs"
import { createServer } from "node:net"
import { join } from "node:path"
import { createInterface } from "node:readline"
import { beforeEach, describe, expect, it, onTestFinished } from "vitest"
import { locate } from "#sandbox-agent/turn/files/locate.ts"
import { readPlace, readText } from "#sandbox-agent/turn/files/read.ts"
import { FileRefused } from "#sandbox-agent/turn/files/refused.ts"
import { replaceOnce } from "#sandbox-agent/turn/files/replace.ts"
import { removeLeftovers } from "#sandbox-agent/turn/files/tree.ts"
import { applyChanges } from "#sandbox-agent/turn/files/write.ts"
import { writeText } from "#sandbox-agent/turn/files/write-text.ts"
import { applyPatch } from "#sandbox-agent/turn/patch/apply.ts"
import { temporaryFolder } from "#test/support/temporary-folder.ts"

const secret = "SECRET outside\n"
let top: string
/** The checkout, with a folder beside it that must stay as it is. */
let root: string

beforeEach(async () => {
  top = await temporaryFolder()
  root = join(top, "checkout")
  mkdirSync(join(root, "src"), { recursive: true })
  mkdirSync(join(root, ".git/hooks"), { recursive: true })
  mkdirSync(join(root, "sub/.git"), { recursive: true })
  mkdirSync(join(top, "outside"))
  mkdirSync(join(top, "checkout-2"))
  writeFileSync(join(top, "outside/secret.txt"), secret)
  writeFileSync(join(top, "checkout-2/secret.txt"), secret)
  writeFileSync(join(root, "src/a.txt"), "inside\n")
  writeFileSync(join(root, ".git/config"), secret)
  writeFileSync(join(root, "sub/.git/config"), secret)
})

const protectedFiles = () =>
  ["outside/secret.txt", "checkout-2/secret.txt", "checkout/.git/config", "checkout/sub/.git/config"].map((path) =>
    readFileSync(join(top, path), "utf8"),
  )

/** All that is there, with what would show a change. No link is followed. */
const listing = (folder = top): ReadonlyArray<string> =>
  readdirSync(folder).flatMap((name) => {
    const path = join(folder, name)
    const stats = lstatSync(path)
    const own = `${path} ${stats.mode} ${stats.size} ${stats.ino}`
    return stats.isDirectory() ? [own, ...listing(path)] : [own]
  })

const isLink = (path: string): boolean => {
  try {
    return lstatSync(join(root, path)).isSymbolicLink()
  } catch {
    return false
  }
}

const refused = (work: Promise<unknown>): Promise<string> =>
  work.then(
    (value) => `it was done: ${JSON.stringify(value)}`,
    (error) => (error instanceof FileRefused ? "refused" : `it failed otherwise: ${error}`),
  )

/** All the ways to reach a file. `read` may be harmless where writing is not, so each is tried alone. */
const ways: Record<string, (path: string) => Promise<unknown>> = {
  read: (path) => readText(root, path, 1_000),
  write: (path) => writeText(root, path, "owned", "any"),
  create: (path) => writeText(root, path, "owned", "create"),
  replace: (path) => replaceOnce(root, path, "SECRET", "owned"),
  "patch: add": (path) => applyPatch(root, `*** Begin Patch\n*** Add File: ${path}\n+owned\n*** End Patch`),
  "patch: update": (path) =>
    applyPatch(root, `*** Begin Patch\n*** Update File: ${path}\n@@\n-SECRET outside\n+owned\n*** End Patch`),
  "patch: delete": (path) => applyPatch(root, `*** Begin Patch\n*** Delete File: ${path}\n*** End Patch`),
  "patch: move": (path) =>
    applyPatch(
      root,
      `*** Begin Patch\n*** Update File: src/a.txt\n*** Move to: ${path}\n@@\n-inside\n+owned\n*** End Patch`,
    ),
}

/** A path, or what makes one: links and the like that an agent's command may have left in the checkout. */
const link = (path: string, target: string) => () => symlinkSync(target, join(root, path))

const attacks: ReadonlyArray<readonly [name: string, path: string, prepare: (() => void) | undefined]> = (
  [
    ["the parent", "../outside/secret.txt"],
    ["a parent further in", "src/../../outside/secret.txt"],
    ["many parents", "../../../../../../../../../../etc/hostname"],
    ["a parent behind what is not there", "missing/../../outside/secret.txt"],
    ["a parent alone", ".."],
    ["a parent and back", "../checkout/../outside/secret.txt"],
    ["the root itself by its parent", "../checkout/src/a.txt"],
    ["a sibling that begins alike", "../checkout-2/secret.txt"],
    ["an absolute path", "/etc/hostname"],
    ["an absolute path of the kernel", "/proc/self/environ"],
    ["a descriptor of the service", "/proc/self/fd/0"],
    ["two slashes", "//etc/hostname"],
    ["no path", ""],
    ["the root", "."],
    ["a folder", "src"],
    ["a NUL", "src/a.txt\0.png"],
    ["a line end", "src/a\n.txt"],
    ["an escape", "src/\u001b[2Ja.txt"],
    ["a control character of C1", "src/\u009ba.txt"],
    ["turned direction", "src/\u202etxt.exe"],
    ["an isolate", "src/\u2066a.txt"],
    ["half a character", "src/\ud800.txt"],
    ["a backslash", "src\\..\\..\\outside\\secret.txt"],
    ["a backslash into git", ".git\\config"],
    ["a long name", `src/${"a".repeat(256)}`],
    ["a long name in bytes", `src/${"ü".repeat(128)}`],
    ["a long path", `${"a/".repeat(2_100)}b`],
    ["git's config", ".git/config"],
    ["a hook", ".git/hooks/pre-commit"],
    ["git's folder", ".git"],
    ["upper case", ".GIT/config"],
    ["mixed case", ".gIt/hooks/post-checkout"],
    ["a trailing dot", ".git./config"],
    ["trailing dots and spaces", ".git . ./config"],
    ["a trailing space", ".git /config"],
    ["the short name", "git~1/config"],
    ["another short name", "GIT~2/config"],
    ["a stream", ".git::$INDEX_ALLOCATION/config"],
    ["a stream of the short name", "git~1:x/config"],
    ["what is not seen", ".g\u200cit/config"],
    ["a joiner", ".gi\u200dt/config"],
    ["a byte order mark", "\ufeff.git/config"],
    ["a soft hyphen", ".gi\u00adt/config"],
    ["a variation selector", ".git\ufe0f/config"],
    ["wide letters", "．ｇｉｔ/config"],
    ["a one dot leader", "\u2024git/config"],
    ["a mathematical letter", ".𝐠it/config"],
    ["a dotless i", ".gıt/config"],
    ["an I with a dot", ".Gİt/config"],
    ["a submodule's git", "sub/.git/config"],
    ["git by a parent", "src/../.git/config"],
    ["git by dots", "./././.git/config"],
    ["git, deep below what is not there", "new/folder/.git/config"],
    ["a link to a file outside", "link", () => link("link", "../outside/secret.txt")()],
    ["an absolute link", "link", () => link("link", join(top, "outside/secret.txt"))()],
    ["an absolute link back into the checkout", "link", () => link("link", join(root, "src/a.txt"))()],
    ["a link to a folder outside", "link/secret.txt", () => link("link", "../outside")()],
    ["a link to the folder above", "link/outside/secret.txt", () => link("link", "..")()],
    ["a link to a new file outside", "link", () => link("link", "../outside/new.txt")()],
    ["a link to a link", "one", () => [link("one", "two")(), link("two", "../outside/secret.txt")()]],
    ["a link in a folder", "src/link/secret.txt", () => link("src/link", "../../outside")()],
    ["a link that leaves and comes back", "link/../checkout/src/a.txt", () => link("link", "../outside")()],
    ["a link to git", "link/config", () => link("link", ".git")()],
    ["a link to git's config", "link", () => link("link", "src/../.GIT/config")()],
    ["a link to the kernel", "link/self/environ", () => link("link", "/proc")()],
    ["a circle of links", "one", () => [link("one", "two")(), link("two", "one")()]],
    ["a link to itself", "self/a", () => link("self", "self")()],
    ["a link with a backslash", "link", () => link("link", "..\\outside\\secret.txt")()],
    ["a pipe", "pipe", () => execFileSync("mkfifo", [join(root, "pipe")])],
    ["a file as a folder", "src/a.txt/b"],
  ] as ReadonlyArray<readonly [string, string, (() => void)?]>
).map(([name, path, prepare]) => [name, path, prepare])

/** Another process, which makes `churn` a link out of the checkout and a folder again, without a pause. */
const startSwapping = async () => {
  const child = spawn(process.execPath, ["-e", swapper], { cwd: root, stdio: ["pipe", "pipe", "inherit"] })
  onTestFinished(() => void child.kill("SIGKILL"))
  const lines = createInterface(child.stdout)[Symbol.asyncIterator]()
  await lines.next()
  return {
    stop: async () => {
      child.stdin.end()
      return Number((await lines.next()).value)
    },
  }
}

const swapper = `
const { renameSync, rmSync, symlinkSync } = require("node:fs")
let going = true
let swaps = 0
process.stdin.on("end", () => { going = false }).resume()
console.log("ready")
const swap = () => {
  try {
    renameSync("churn", "aside")
    symlinkSync("../outside", "churn")
    rmSync("churn")
    renameSync("aside", "churn")
    swaps += 1
  } catch {
    // a tool has made the folder anew meanwhile
    try {
      rmSync("churn", { recursive: true, force: true })
      renameSync("aside", "churn")
    } catch {}
  }
  if (going) setImmediate(swap)
  else console.log(swaps)
}
swap()`

describe("an attack", () => {
  it("is one of at least sixty", () => {
    expect(attacks.length).toBeGreaterThanOrEqual(60)
  })

  describe.each(attacks)("by %s", (_, path, prepare) => {
    it.each(Object.keys(ways))("is refused: %s", async (way) => {
      prepare?.()
      const before = listing()
      // the link itself lies in the checkout: to delete it touches nothing else
      const deletesLink = way === "patch: delete" && isLink(path)
      const result = await refused(ways[way]?.(path) ?? Promise.resolve("no such way"))
      expect(protectedFiles()).toEqual(Array(4).fill(secret))
      if (deletesLink) {
        expect(result).toBe(`it was done: ["deleted ${path}"]`)
      } else {
        expect(result).toBe("refused")
        expect(listing()).toEqual(before)
      }
    })
  })

  it("by a device is refused, without opening it", async () => {
    try {
      execFileSync("mknod", [join(root, "device"), "c", "1", "5"], { stdio: "ignore" })
    } catch {
      symlinkSync("/dev/zero", join(root, "device"))
    }
    for (const way of ["read", "write", "replace", "patch: update"]) {
      expect(await refused(ways[way]?.("device") ?? Promise.resolve())).toBe("refused")
    }
  })

  it("by a socket is refused", async () => {
    const server = createServer().listen(join(root, "socket"))
    onTestFinished(() => void server.close())
    await new Promise((listening) => server.once("listening", listening))
    for (const way of ["read", "write", "replace", "patch: delete"]) {
      expect(await refused(ways[way]?.("socket") ?? Promise.resolve())).toBe("refused")
    }
  })

  it("by a name that looks like one that is there is refused", async () => {
    await writeText(root, "café.txt", "first", "any")
    expect(await refused(writeText(root, "cafe\u0301.txt", "second", "any"))).toBe("refused")
    expect(await refused(writeText(root, "ca\u200bfé.txt", "third", "any"))).toBe("refused")
    await writeText(root, "café.txt", "fourth", "any")
    expect(readFileSync(join(root, "café.txt"), "utf8")).toBe("fourth")
  })

  it("on files that share their storage changes only the one in the checkout", async () => {
    linkSync(join(top, "outside/secret.txt"), join(root, "shared.txt"))
    linkSync(join(top, "outside/secret.txt"), join(root, "shared-2.txt"))
    linkSync(join(top, "outside/secret.txt"), join(root, "shared-3.txt"))
    await writeText(root, "shared.txt", "owned", "any")
    await replaceOnce(root, "shared-2.txt", "SECRET", "owned")
    await applyPatch(root, "*** Begin Patch\n*** Update File: shared-3.txt\n-SECRET outside\n+owned\n*** End Patch")
    expect(protectedFiles()).toEqual(Array(4).fill(secret))
    expect(readFileSync(join(root, "shared-3.txt"), "utf8")).toBe("owned\n")
    expect(statSync(join(top, "outside/secret.txt")).nlink).toBe(1)
  })

  it("that swaps a folder for a link again and again never gets out", async () => {
    mkdirSync(join(root, "churn"))
    writeFileSync(join(root, "churn/secret.txt"), "inside\n")
    const swaps = await startSwapping()
    const read: Array<string> = []
    let written = 0
    for (let attempt = 0; attempt < 300 || read.length === 0 || written === 0; attempt += 1) {
      await readText(root, "churn/secret.txt", 100).then(
        ({ text }) => read.push(text),
        () => undefined,
      )
      await writeText(root, "churn/secret.txt", "inside\n", "any").then(
        () => {
          written += 1
        },
        () => undefined,
      )
      await writeText(root, `churn/new-${attempt}.txt`, "x", "create").catch(() => undefined)
    }
    expect(await swaps.stop()).toBeGreaterThan(10)
    expect(new Set(read)).toEqual(new Set(["inside\n"]))
    expect(protectedFiles()).toEqual(Array(4).fill(secret))
    expect(execFileSync("ls", ["-A", join(top, "outside")], { encoding: "utf8" })).toBe("secret.txt\n")
  })

  it("that swaps a folder between finding and writing writes into the folder that was found", async () => {
    await using place = await locate(root, "src/new.txt")
    renameSync(join(root, "src"), join(root, "moved"))
    symlinkSync("../outside", join(root, "src"))
    await applyChanges(root, [{ kind: "write", place, text: "x", how: "create" }])
    expect(existsSync(join(top, "outside/new.txt"))).toBe(false)
    expect(readFileSync(join(root, "moved/new.txt"), "utf8")).toBe("x")
  })

  it("that puts a link where a file was found reads nothing", async () => {
    await using place = await locate(root, "src/a.txt")
    rmSync(join(root, "src/a.txt"))
    symlinkSync("../../outside/secret.txt", join(root, "src/a.txt"))
    expect(await refused(readPlace(place, 100))).toBe("refused")
  })

  it("that puts a pipe where a file was found does not block", async () => {
    await using place = await locate(root, "src/a.txt")
    rmSync(join(root, "src/a.txt"))
    execFileSync("mkfifo", [join(root, "src/a.txt")])
    expect(await refused(readPlace(place, 100))).toBe("refused")
  })

  it("that puts a link where a file was found replaces the link", async () => {
    await using place = await locate(root, "src/a.txt")
    rmSync(join(root, "src/a.txt"))
    symlinkSync("../../outside/secret.txt", join(root, "src/a.txt"))
    await applyChanges(root, [{ kind: "write", place, text: "x", how: "any" }])
    expect(protectedFiles()).toEqual(Array(4).fill(secret))
    expect(lstatSync(join(root, "src/a.txt")).isFile()).toBe(true)
  })
})

describe("what is allowed", () => {
  it("is a path in the checkout, however it is written", async () => {
    for (const path of ["src/a.txt", "./src//a.txt", "src/../src/a.txt", "src/./a.txt", join(root, "src/a.txt")]) {
      expect((await readText(root, path, 100)).text).toBe("inside\n")
    }
  })

  it("is a link that stays in the checkout, to read and to write", async () => {
    symlinkSync("src/a.txt", join(root, "link"))
    symlinkSync("../src", join(root, "sub/back"))
    expect((await readText(root, "link", 100)).text).toBe("inside\n")
    await writeText(root, "sub/back/a.txt", "new\n", "any")
    expect(readFileSync(join(root, "src/a.txt"), "utf8")).toBe("new\n")
    await writeText(root, "link", "newer\n", "any")
    expect(readlinkSync(join(root, "link"))).toBe("src/a.txt")
    expect(readFileSync(join(root, "src/a.txt"), "utf8")).toBe("newer\n")
  })

  it("is a name that only begins like git's", async () => {
    for (const path of [
      ".gitignore",
      ".github/workflows/ci.yml",
      ".gitattributes",
      "git",
      "x.git/y",
      ".giit",
      "..git",
    ]) {
      await writeText(root, path, "x", "create")
      expect(readFileSync(join(root, path), "utf8")).toBe("x")
    }
  })

  it("keeps the bits of the mode, and gives a new file the usual ones", async () => {
    chmodSync(join(root, "src/a.txt"), 0o755)
    await writeText(root, "src/a.txt", "#!/bin/sh\n", "any")
    await writeText(root, "src/b.txt", "x", "any")
    expect(statSync(join(root, "src/a.txt")).mode & 0o777).toBe(0o755)
    expect(statSync(join(root, "src/b.txt")).mode & 0o111).toBe(0)
  })
})

describe("a file", () => {
  it("is read up to a size, and cut between characters", async () => {
    writeFileSync(join(root, "long.txt"), "ä".repeat(100))
    expect(await readText(root, "long.txt", 21)).toEqual({ text: "ä".repeat(10), size: 200, cut: true })
  })

  it("that is no text is told as such", async () => {
    writeFileSync(join(root, "a.png"), Buffer.from([0x89, 0x50, 0, 1]))
    writeFileSync(join(root, "latin.txt"), Buffer.from([0x66, 0xfc, 0x72]))
    await expect(readText(root, "a.png", 100)).rejects.toMatchObject({ kind: "binary" })
    await expect(readText(root, "latin.txt", 100)).rejects.toMatchObject({ kind: "binary" })
  })

  it("is not written beyond a size, nor with what is no text", async () => {
    await expect(writeText(root, "big", "x".repeat(4_194_305), "any")).rejects.toMatchObject({ kind: "too_large" })
    await expect(writeText(root, "nul", "a\0b", "any")).rejects.toMatchObject({ kind: "forbidden" })
    await expect(writeText(root, "half", "\ud800", "any")).rejects.toMatchObject({ kind: "forbidden" })
    expect(existsSync(join(root, "big"))).toBe(false)
  })

  it("that was changed meanwhile is not replaced", async () => {
    await using place = await locate(root, "src/a.txt")
    writeFileSync(join(root, "src/other"), "somebody else's\n")
    renameSync(join(root, "src/other"), join(root, "src/a.txt"))
    const change = { kind: "write", place, text: "mine", how: "replace" } as const
    expect(await refused(applyChanges(root, [change]))).toBe("refused")
    expect(readFileSync(join(root, "src/a.txt"), "utf8")).toBe("somebody else's\n")
  })

  it("that a lost worker left on its way is removed, and nothing else", async () => {
    writeFileSync(join(root, `src/.svc-${"0".repeat(32)}.tmp`), "half")
    writeFileSync(join(root, "src/.svc-notes.tmp"), "kept")
    await removeLeftovers(root)
    expect(execFileSync("ls", ["-A", join(root, "src")], { encoding: "utf8" })).toBe(".svc-notes.tmp\na.txt\n")
  })
})

describe("several changes", () => {
  it("are all taken back where the last one fails", async () => {
    writeFileSync(join(root, "src/b.txt"), "b\n")
    mkdirSync(join(root, "src/c.txt"))
    const before = listing()
    await using a = await locate(root, "src/a.txt")
    await using fresh = await locate(root, "new/deep/file.txt")
    await using b = await locate(root, "src/b.txt")
    await using late = await locate(root, "src/late.txt")
    // somebody takes the name between finding and writing
    const taken = applyChanges(root, [
      { kind: "write", place: a, text: "changed", how: "replace" },
      { kind: "write", place: fresh, text: "new", how: "create" },
      { kind: "delete", place: b },
      {
        kind: "write",
        place: {
          ...late,
          get target() {
            if (!existsSync(join(root, "src/late.txt"))) symlinkSync("nowhere", join(root, "src/late.txt"))
            return late.target
          },
        },
        text: "late",
        how: "create",
      },
    ])
    expect(await refused(taken)).toBe("refused")
    rmSync(join(root, "src/late.txt"))
    expect(listing()).toEqual(before)
    expect(readFileSync(join(root, "src/a.txt"), "utf8")).toBe("inside\n")
    expect(readFileSync(join(root, "src/b.txt"), "utf8")).toBe("b\n")
  })
})
