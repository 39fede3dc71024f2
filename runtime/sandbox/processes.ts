/** The processes of a command, as the service sees them from outside. Linux. */
import { readFileSync } from "node:fs"

/** The processes that this one started and that live; none where the system does not tell. */
export const childrenOf = (pid: number): ReadonlyArray<number> => {
  try {
    return readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").split(" ").filter(Boolean).map(Number)
  } catch {
    return []
  }
}

export interface Usage {
  /** Processes and threads. */
  readonly processes: number
  /** Resident bytes; what several share counts for each. */
  readonly memoryBytes: number
}

/** What a process and all that descends from it use; orphans are found below the process 1 of their namespace. */
export const usageOf = (pid: number): Usage => {
  let processes = 0
  let memoryBytes = 0
  const left = [pid]
  for (let next = left.pop(); next !== undefined; next = left.pop()) {
    const status = statusOf(next)
    if (status === undefined) continue
    processes += status.threads
    memoryBytes += status.memoryBytes
    left.push(...childrenOf(next))
  }
  return { processes, memoryBytes }
}

const statusOf = (pid: number): { readonly threads: number; readonly memoryBytes: number } | undefined => {
  try {
    const text = readFileSync(`/proc/${pid}/status`, "utf8")
    return {
      threads: Number(/^Threads:\s+(\d+)/m.exec(text)?.[1] ?? 0),
      memoryBytes: Number(/^VmRSS:\s+(\d+)/m.exec(text)?.[1] ?? 0) * 1_024,
    }
  } catch {
    return undefined // it has ended
  }
}

export const sendKill = (pid: number): void => {
  try {
    process.kill(pid, "SIGKILL")
  } catch {
    // it has ended already
  }
}
