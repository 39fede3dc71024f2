/**
 * The server process of the embedded database: started, watched, stopped. One that outlived a killed
 * service is stopped before another is started, and so are the remains of one that was itself killed.
 */
import { type ChildProcess, spawn } from "node:child_process"
import { existsSync } from "node:fs"
import { open, readFile, rename, rm, stat } from "node:fs/promises"
import { join } from "node:path"
import { type Cluster, serverArguments, socketFile } from "#runtime/database/cluster.ts"
import { DatabaseNotStarted } from "#runtime/database/not-started.ts"
import { isAlive, processesIn, signal, until } from "#runtime/database/processes.ts"
import { commandOf, credentials } from "#runtime/database/programs.ts"

export interface Postmaster {
  readonly pid: number
  /** Resolves when the process has ended, for whatever reason. */
  readonly ended: Promise<void>
}

const startMillis = 60_000
/** A fast shutdown (SIGINT) may take so long; then an immediate one (SIGQUIT), then the end. */
const fastMillis = 5_000
const immediateMillis = 3_000
/** Server processes whose postmaster is gone end by themselves, unless they are in the middle of something. */
const strayMillis = 1_000
/** The log is put aside when it has grown to this, once. */
const logBytes = 10 * 1_048_576

export const startPostmaster = async (cluster: Cluster): Promise<Postmaster> => {
  await clear(cluster)
  const log = await openLog(cluster.log)
  const [command, args] = commandOf(cluster.programs, "postgres", serverArguments(cluster))
  const child = spawn(command, args, {
    ...credentials(cluster.programs.user),
    cwd: cluster.data,
    env: cluster.programs.environment,
    stdio: ["ignore", log.fd, log.fd],
    // a session of its own: an interrupt of the terminal is for the service, which then stops the server in order
    detached: true,
    windowsHide: true,
  })
  child.unref()
  const ended = new Promise<void>((resolve) => {
    child.once("exit", () => resolve())
    child.once("error", () => resolve())
  })
  await log.close()
  let gone = false
  void ended.then(() => {
    gone = true
  })
  const ready = await until(async () => gone || (await isReady(cluster, child)), startMillis)
  if (gone || !ready || child.pid === undefined) {
    if (child.pid !== undefined && !gone) signal(child.pid, "SIGKILL")
    throw new DatabaseNotStarted({ message: `The database did not start. ${await lastWords(cluster.log)}` })
  }
  return { pid: child.pid, ended }
}

export const stopPostmaster = async (cluster: Cluster, pid: number): Promise<void> => {
  const ended = () => !isAlive(pid)
  signal(pid, "SIGINT")
  if (!(await until(ended, fastMillis))) {
    signal(pid, "SIGQUIT")
    if (!(await until(ended, immediateMillis))) signal(pid, "SIGKILL")
  }
  await endStrays(cluster)
}

/** Ends what is left of an earlier server. Only for who owns the folder: what runs there is nobody else's. */
const clear = async (cluster: Cluster): Promise<void> => {
  const file = join(cluster.data, "postmaster.pid")
  const pid = await recordedPid(file)
  const here = await processesIn(cluster.data)
  if (pid !== undefined && isAlive(pid) && (here === undefined || here.includes(pid)))
    await stopPostmaster(cluster, pid)
  else await endStrays(cluster)
  if (here === undefined) return
  // a number in them that was given to another program since would keep the server from starting
  const socket = socketFile(cluster)
  const stale = socket === undefined ? [file] : [file, socket, `${socket}.lock`]
  for (const path of stale) await rm(path, { force: true })
}

const endStrays = async ({ data }: Cluster): Promise<void> => {
  for (const name of ["none", "SIGQUIT", "SIGKILL"] as const) {
    const strays = (await processesIn(data)) ?? []
    if (strays.length === 0) return
    if (name !== "none") for (const pid of strays) signal(pid, name)
    await until(async () => (await processesIn(data))?.length === 0, strayMillis)
  }
}

/** The server writes its state into the eighth line of its pid file. */
const isReady = async ({ data }: Cluster, child: ChildProcess): Promise<boolean> => {
  const lines = (await readFile(join(data, "postmaster.pid"), "utf8").catch(() => "")).split("\n")
  return Number(lines[0]) === child.pid && lines[7]?.trim() === "ready"
}

const recordedPid = async (file: string): Promise<number | undefined> => {
  if (!existsSync(file)) return undefined
  const pid = Number.parseInt(await readFile(file, "utf8"), 10)
  return Number.isSafeInteger(pid) && pid > 1 ? pid : undefined
}

const openLog = async (path: string) => {
  const size = await stat(path).then(
    (found) => found.size,
    () => 0,
  )
  if (size > logBytes) await rename(path, `${path}.1`)
  return open(path, "a", 0o600)
}

const lastWords = async (path: string): Promise<string> => {
  const lines = (await readFile(path, "utf8").catch(() => "")).trimEnd().split("\n")
  return `Its log (${path}) ends with:\n${lines.slice(-5).join("\n")}`
}
