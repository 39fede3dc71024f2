/**
 * Runs a command with the rights of the service, for a policy that says so. Only its environment is another. It can
 * read and change what the service can; what leaves its process group outlives it.
 */
import type { Execution } from "#core/ports/sandbox.ts"
import { commandEnvironment, type Program } from "#runtime/sandbox/program.ts"

export const directly = ({ command, workingDirectory, environment }: Execution): Program => ({
  file: "/bin/sh",
  args: ["-c", command],
  environment: commandEnvironment(process.env.PATH ?? "/usr/bin:/bin", process.env.HOME ?? "/tmp", environment),
  workingDirectory,
  saysReady: false,
})
