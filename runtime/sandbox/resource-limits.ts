/** The limits of one process, as options of prlimit(1). */
import { Duration } from "effect"
import type { SandboxLimits } from "#runtime/sandbox/limits.ts"
import type { Machine } from "#runtime/sandbox/machine.ts"

/** More CPU time than that is no limit. */
const longestSeconds = 30 * 86_400

export const resourceLimits = (
  timeout: Duration.Duration,
  limits: SandboxLimits,
  machine: Machine,
): ReadonlyArray<string> => [
  `--cpu=${Math.min(longestSeconds, Math.ceil(Duration.toSeconds(timeout)) * limits.processors)}`,
  `--data=${limits.processMemoryBytes}`,
  `--nofile=${limits.openFiles}`,
  `--fsize=${limits.fileBytes}`,
  "--core=0",
  ...(machine.canCountProcesses ? [`--nproc=${limits.processes}`] : []),
]
