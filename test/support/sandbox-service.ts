/** A service that runs one command in a sandbox, to be killed. Arguments: the data folder, the checkout, the command. */
import { Duration, Effect } from "effect"
import { defaultLimits } from "#runtime/sandbox/limits.ts"
import { localSandbox } from "#runtime/sandbox/sandbox.ts"

const [data = "", workingDirectory = "", command = ""] = process.argv.slice(2)
await Effect.runPromise(
  Effect.gen(function* () {
    const sandbox = yield* localSandbox(data, defaultLimits)
    return yield* sandbox.run({
      command,
      workingDirectory,
      mounts: [],
      network: false,
      direct: false,
      timeout: Duration.minutes(5),
      maxOutputBytes: 1_000,
      environment: {},
      onOutput: (_, chunk) => Effect.sync(() => process.stdout.write(chunk)),
    })
  }),
)
