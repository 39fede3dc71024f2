/**
 * Git directories of the service's own, written file by file: their configuration is a constant, their
 * objects are those of other folders (alternates) and what is added here. No agent can write one that the
 * service uses.
 */
import { mkdir, writeFile } from "node:fs/promises"
import { join } from "node:path"
import type { Origin } from "#runtime/git/origin.ts"

/**
 * For the work of agents: bytes are committed as they are, and no `.gitattributes` can convert a file, hide
 * it from a diff or name a program.
 */
export const plainAttributes = "* !diff !text !eol !crlf !filter !ident !working-tree-encoding\n"

/** For the working tree of the user: line ends as its own attributes say, but no program. */
export const userAttributes = "* !filter\n"

export interface GitDirSpec {
  /** Folders of objects that are read from, absolute. */
  readonly alternates: ReadonlyArray<string>
  readonly attributes: string
  /** What HEAD is: a branch (`refs/heads/…`), or a commit. */
  readonly head?: string
  /** Lines of the `[core]` section. */
  readonly core?: ReadonlyArray<string>
}

/** Writes a git directory at `path`, which must not exist. */
export const writeGitDir = async (path: string, origin: Origin, spec: GitDirSpec): Promise<void> => {
  await mkdir(join(path, "objects/info"), { recursive: true, mode: 0o700 })
  await Promise.all([mkdir(join(path, "refs/heads"), { recursive: true }), mkdir(join(path, "info"))])
  const { head } = spec
  await Promise.all([
    writeFile(join(path, "config"), configOf(origin, spec.core ?? [])),
    writeFile(join(path, "objects/info/alternates"), spec.alternates.map(alternateLine).join("")),
    writeFile(join(path, "info/attributes"), spec.attributes),
    writeFile(
      join(path, "HEAD"),
      head === undefined ? "ref: refs/heads/none\n" : head.startsWith("refs/") ? `ref: ${head}\n` : `${head}\n`,
    ),
    ...(origin.shallow === null ? [] : [writeFile(join(path, "shallow"), origin.shallow)]),
  ])
}

const configOf = ({ objectFormat }: Origin, core: ReadonlyArray<string>): string =>
  [
    "[core]",
    `\trepositoryformatversion = ${objectFormat === "sha1" ? 0 : 1}`,
    "\tbare = false",
    "\tfilemode = true",
    "\tsymlinks = true",
    "\tignorecase = false",
    "\tautocrlf = false",
    "\tlogallrefupdates = false",
    "\tfsmonitor = false",
    "\thooksPath = /dev/null",
    "\tpreloadindex = true",
    ...core.map((line) => `\t${line}`),
    ...(objectFormat === "sha1" ? [] : ["[extensions]", `\tobjectformat = ${objectFormat}`]),
    "",
  ].join("\n")

/** A path that git would read otherwise is quoted as in C. */
const alternateLine = (path: string): string =>
  /["\n\\#]/.test(path) ? `"${path.replace(/["\\]/g, "\\$&").replaceAll("\n", "\\n")}"\n` : `${path}\n`
