/** How much of the machine one command gets. */
import { availableParallelism, totalmem } from "node:os"

export interface SandboxLimits {
  /** Resident bytes of all its processes together. */
  readonly memoryBytes: number
  /** Private bytes that one process may ask for. */
  readonly processMemoryBytes: number
  /** Processes and threads at a time. */
  readonly processes: number
  /** Descriptors of one process. */
  readonly openFiles: number
  /** Bytes of one file. */
  readonly fileBytes: number
  /** Bytes of all files in its /tmp, which are kept in memory. */
  readonly temporaryBytes: number
  /** Free bytes of the disk that must be left. */
  readonly freeBytes: number
  /** Processors, by which the time of a command is multiplied: what one process may use of CPU time. */
  readonly processors: number
}

const mebibyte = 1_048_576
const gibibyte = 1_073_741_824

export const defaultLimits: SandboxLimits = {
  memoryBytes: Math.min(4 * gibibyte, Math.floor(totalmem() / 2)),
  processMemoryBytes: Math.min(4 * gibibyte, Math.floor(totalmem() / 2)),
  processes: 512,
  openFiles: 4_096,
  fileBytes: 2 * gibibyte,
  temporaryBytes: Math.min(gibibyte, Math.floor(totalmem() / 8)),
  freeBytes: 256 * mebibyte,
  processors: availableParallelism(),
}
