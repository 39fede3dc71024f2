/** What can be said on the command line of the demo. */
import { Command, CommanderError } from "commander"

export interface Options {
  /** Approves without asking. */
  readonly yes: boolean
  /** Stops the service at the end, instead of leaving it running. */
  readonly exit: boolean
  /** The provider of the settings instead of the script. */
  readonly model: boolean
  /** An existing folder to work in. */
  readonly folder?: string
}

/** Undefined where nothing is to be run: the help was shown (0), or the usage was wrong (2), as the exit code says. */
export const readOptions = (argv: ReadonlyArray<string>): Options | undefined => {
  const command = new Command("npm run demo --")
    .description("Shows the service at work: a goal becomes a reviewed, merged change of a small web site.")
    .option("-y, --yes", "approve the change without asking", false)
    .option("--exit", "stop the service at the end", false)
    .option("--model", "agents that think with the provider of your settings, instead of the script", false)
    .option("--folder <path>", "an existing folder to work in, instead of a new one among the temporary files")
    .exitOverride()
  try {
    return command.parse([...argv], { from: "user" }).opts<Options>()
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error
    process.exitCode = error.exitCode === 0 ? 0 : 2
    return undefined
  }
}
