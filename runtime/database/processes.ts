/** Processes of the machine, by number: which live, which belong to a database folder, how they are ended. */
import { readFileSync } from "node:fs"
import { readdir, readFile, readlink } from "node:fs/promises"
import { setTimeout as sleep } from "node:timers/promises"

/** How often an ending process is looked at. */
const lookMillis = 10

/** False also for one that has ended and only waits to be noticed, as orphans do in a container without an init. */
export const isAlive = (pid: number): boolean => signal(pid, 0) && !hasEnded(pid)

/** Sends a signal; false where there is no such process. */
export const signal = (pid: number, name: NodeJS.Signals | 0): boolean => {
  try {
    return process.kill(pid, name)
  } catch (error) {
    // it lives, and belongs to somebody else
    return error instanceof Error && "code" in error && error.code === "EPERM"
  }
}

const hasEnded = (pid: number): boolean => {
  if (process.platform !== "linux") return false
  try {
    return fieldsOf(readFileSync(`/proc/${pid}/stat`, "utf8"))[0] === "Z"
  } catch {
    return true // it went away between the two looks
  }
}

/** What follows the name of the program, which is in brackets and may contain anything. */
const fieldsOf = (stat: string): ReadonlyArray<string> => stat.slice(stat.lastIndexOf(")") + 2).split(" ")

/** When a process was started, in a form that only equality makes sense of; undefined where the system does not say. */
export const startOf = async (pid: number): Promise<string | undefined> => {
  const stat = await readFile(`/proc/${pid}/stat`, "utf8").catch(() => undefined)
  return stat === undefined ? undefined : fieldsOf(stat)[19]
}

/**
 * The processes that work in `folder`, as every process of a database server does. Undefined where
 * the system has no /proc.
 */
export const processesIn = async (folder: string): Promise<ReadonlyArray<number> | undefined> => {
  if (process.platform !== "linux") return undefined
  const names = await readdir("/proc")
  const found = await Promise.all(
    names
      .filter((name) => /^\d+$/.test(name))
      .map(async (name) => ((await readlink(`/proc/${name}/cwd`).catch(() => "")) === folder ? [Number(name)] : [])),
  )
  return found.flat()
}

/** Waits until `done`, for at most `millis`; says whether it came to that. */
export const until = async (done: () => boolean | Promise<boolean>, millis: number): Promise<boolean> => {
  const end = performance.now() + millis
  while (!(await done())) {
    if (performance.now() > end) return false
    await sleep(lookMillis)
  }
  return true
}
