/** Asks ripgrep, where it is installed, which files have a line that matches. */
import { spawn } from "node:child_process"
import { constants } from "node:fs"
import { access } from "node:fs/promises"
import { delimiter, isAbsolute, join } from "node:path"

/** Bytes of names that are taken. */
const maxOutput = 4_194_304

/** The program on the PATH, or undefined. Only absolute folders of the PATH are looked at. */
export const findRipgrep = async (path: string): Promise<string | undefined> => {
  for (const folder of path.split(delimiter).filter((one) => isAbsolute(one))) {
    const program = join(folder, "rg")
    const usable = await access(program, constants.X_OK).then(
      () => true,
      () => false,
    )
    if (usable) return program
  }
  return undefined
}

/** Paths from the root, in a stable order; undefined where ripgrep could not say. */
export const candidatesByRipgrep = (
  program: string,
  root: string,
  { pattern, isRegex }: { readonly pattern: string; readonly isRegex: boolean },
  signal: AbortSignal,
): Promise<ReadonlyArray<string> | undefined> =>
  new Promise((done) => {
    const child = spawn(program, argumentsFor(pattern, isRegex), {
      cwd: root,
      env: {},
      stdio: ["ignore", "pipe", "ignore"],
      signal,
      killSignal: "SIGKILL",
    })
    const chunks: Array<Buffer> = []
    let size = 0
    child.stdout.on("data", (chunk: Buffer) => {
      size += chunk.length
      if (size > maxOutput) child.kill("SIGKILL")
      else chunks.push(chunk)
    })
    child.on("error", () => done(undefined))
    // 0: found, 1: nothing found
    child.on("close", (code) => done(code === 0 || code === 1 ? pathsOf(Buffer.concat(chunks)) : undefined))
  })

const argumentsFor = (pattern: string, isRegex: boolean): ReadonlyArray<string> => [
  "--no-config",
  "--no-follow",
  "--no-messages",
  "--no-ignore-global",
  "--no-ignore-parent",
  "--no-ignore-exclude",
  "--no-ignore-dot",
  "--no-require-git",
  "--hidden",
  "--glob=!.git",
  "--max-filesize=1M",
  "--threads=2",
  "--sort=path",
  "--files-with-matches",
  "--null",
  ...(isRegex ? [] : ["--fixed-strings"]),
  `--regexp=${pattern}`,
  "--",
  ".",
]

const pathsOf = (output: Buffer): ReadonlyArray<string> =>
  output
    .toString("utf8")
    .split("\0")
    .filter((path) => path !== "")
    .map((path) => path.replace(/^\.\//, ""))
