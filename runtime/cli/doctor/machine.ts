/** What the machine must have: Node.js, git, a place to write, a free port, a sandbox. */
import { constants, existsSync } from "node:fs"
import { access, statfs } from "node:fs/promises"
import { createServer } from "node:net"
import { dirname } from "node:path"
import { Effect } from "effect"
import type { SettingsValues } from "#core/settings.ts"
import { type Check, failed, ok, outputOf, warning } from "#runtime/cli/doctor/check.ts"
import { defaultLimits } from "#runtime/sandbox/limits.ts"
import { localSandbox } from "#runtime/sandbox/sandbox.ts"

type Version = readonly [major: number, minor: number]

/** The oldest versions that the service runs with. */
const oldestNode: Version = [22, 19]
/** `git merge-tree --write-tree` came with it. */
const oldestGit: Version = [2, 38]

/** Free bytes below which the database soon cannot write. */
const requiredFreeBytes = 268_435_456
/** Free bytes that a few checkouts and a growing log need. */
const comfortableFreeBytes = 2_147_483_648

const versionIn = (text: string): Version | undefined => {
  const [, major, minor] = /(\d+)\.(\d+)/.exec(text) ?? []
  return major === undefined || minor === undefined ? undefined : [Number(major), Number(minor)]
}

const atLeast = ([major, minor]: Version, [oldestMajor, oldestMinor]: Version): boolean =>
  major > oldestMajor || (major === oldestMajor && minor >= oldestMinor)

export const node: Check = Effect.sync(() => {
  const version = versionIn(process.versions.node)
  return version !== undefined && atLeast(version, oldestNode)
    ? ok("node", `Node.js ${process.versions.node}`)
    : failed("node", `Node.js ${process.versions.node} is too old`, `Install Node.js ${oldestNode.join(".")} or newer.`)
})

export const git: Check = Effect.gen(function* () {
  const text = yield* outputOf("git", ["--version"])
  const advice = `Install git ${oldestGit.join(".")} or newer, and see that it is on the PATH.`
  if (text === undefined) return failed("git", "git was not found", advice)
  const version = versionIn(text)
  return version !== undefined && atLeast(version, oldestGit)
    ? ok("git", text.trim())
    : failed("git", `${text.trim()} is too old`, advice)
})

/** Looks at the folder, or the nearest one above it that exists; creates nothing. */
export const dataFolder = (directory: string): Check =>
  Effect.tryPromise(async () => {
    let existing = directory
    while (!existsSync(existing)) existing = dirname(existing)
    await access(existing, constants.W_OK | constants.X_OK)
    const { bavail, bsize } = await statfs(existing)
    const free = bavail * bsize
    const detail = `${directory}, ${(free / 1_073_741_824).toFixed(1)} GiB free`
    const advice = "Free some space, or move the folder with Data:Directory (SVC_DATA_DIR)."
    if (free < requiredFreeBytes) return failed("data folder", detail, advice)
    return free < comfortableFreeBytes ? warning("data folder", detail, advice) : ok("data folder", detail)
  }).pipe(
    Effect.orElseSucceed(() =>
      failed(
        "data folder",
        `${directory} cannot be written by this user`,
        "Change its owner, or choose another with Data:Directory (SVC_DATA_DIR).",
      ),
    ),
  )

export const port = ({ Host, Port }: SettingsValues["Server"]): Check =>
  Effect.callback((resume) => {
    const server = createServer()
    server.once("error", (error: NodeJS.ErrnoException) => {
      resume(Effect.succeed(failed("port", `${Host}:${Port} cannot be used (${error.code})`, portAdvice(error.code))))
    })
    server.listen(Port, Host, () => {
      server.close(() => resume(Effect.succeed(ok("port", Port === 0 ? "any free one" : `${Host}:${Port} is free`))))
    })
  })

const portAdvice = (code: string | undefined): string => {
  switch (code) {
    case "EADDRINUSE":
      return "If this is not the service itself running, stop the other program or set Server:Port (PORT)."
    case "EACCES":
      return "Ports below 1024 need a privilege: set Server:Port (PORT) to a higher one."
    default:
      return "Set Server:Host to an address of this machine."
  }
}

/** Commands of agents run with no rights of their own; where nothing confines them they are refused. */
export const sandbox = ({ Sandbox, Data }: SettingsValues): Check =>
  Effect.gen(function* () {
    if (Sandbox.AgentExecutionMode === "pod-per-run") return ok("sandbox", "commands run in pods")
    const { status } = yield* localSandbox(Data.Directory, defaultLimits)
    const { isRealIsolation, reason } = yield* status
    if (!isRealIsolation) return warning("sandbox", "nothing confines the commands of agents", reason)
    if (process.getuid?.() !== 0) return ok("sandbox", reason)
    return {
      ...ok("sandbox", reason),
      advice: "Run the service as an ordinary user: then no file of root can be reached.",
    }
  })
