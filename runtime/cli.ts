/**
 * The command line. Each command is a file of `runtime/cli`, imported when it is called: `svc --help` loads
 * none of the service.
 *
 * Exit codes: 0 done, 1 failed, 2 wrong usage or settings that are not valid.
 */
import { Command, CommanderError, Option } from "commander"
import { configOption, dataOption, examples, finish, jsonOption } from "#runtime/cli/command.ts"
import { pluginCommand } from "#runtime/cli/plugin/command.ts"
import { version } from "#runtime/version.ts"

const usageExit = 2

/** Never throws: says what is wrong on standard error and sets the exit code of the process. */
export const main = async (argv: ReadonlyArray<string>): Promise<void> => {
  // a reader that has seen enough (`| head`) is no failure
  process.stdout.on("error", (error: NodeJS.ErrnoException) => {
    if (error.code === "EPIPE") process.exit(0)
    throw error
  })
  try {
    await program().parseAsync([...argv])
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error
    const asked = error.code === "commander.helpDisplayed" || error.code === "commander.version"
    process.exitCode = asked ? 0 : usageExit
  }
}

const portOption = () => new Option("-p, --port <number>", "TCP port, 0 for any free one (Server:Port)")

const program = (): Command => {
  const svc = new Command("svc")
    .description("Turns a goal into a reviewed, merged change of a code repository by a team of AI agents.")
    .version(version, "-v, --version", "print the version")
    .helpOption("-h, --help", "show help")
    .helpCommand("help [command]", "show help for a command")
    .exitOverride()
    .showHelpAfterError("(svc --help shows what there is)")
    .addHelpText("after", examples("svc serve --local", "svc config print", "svc doctor"))

  svc
    .command("serve")
    .description("start the service")
    .addOption(configOption())
    .addOption(portOption())
    .addOption(dataOption())
    .option("--local", "for one person on this machine: where no key is configured, create one in the data folder")
    .option("--safe-mode", "without third-party plugins: for when one of them breaks the service")
    .addHelpText(
      "after",
      examples(
        "svc serve --local --port 8080",
        "svc serve --config /etc/svc/svc.yml",
        "DATABASE_URL=postgres://svc@db/svc svc serve",
      ),
    )
    .action(async (options) => finish(await (await import("#runtime/cli/serve.ts")).serve(options)))

  const config = svc.command("config").description("show the settings")
  config
    .command("print")
    .description("each effective setting with where it comes from; secrets are not shown")
    .addOption(configOption())
    .addOption(jsonOption())
    .addHelpText("after", examples("svc config print", "svc config print --json", "PORT=8080 svc config print"))
    .action(async (options) => finish(await (await import("#runtime/cli/config.ts")).print(options)))
  config
    .command("schema")
    .description("the JSON Schema of the settings file, for editors")
    .addHelpText("after", examples("svc config schema > svc.schema.json"))
    .action(async () => finish(await (await import("#runtime/cli/config.ts")).schema()))

  svc
    .command("migrate")
    .description("bring the database to this version, and end; serve does the same when it starts")
    .addOption(configOption())
    .addOption(dataOption())
    .addHelpText("after", examples("DATABASE_URL=postgres://svc@db/svc svc migrate"))
    .action(async (options) => finish(await (await import("#runtime/cli/migrate.ts")).migrate(options)))

  const keys = svc.command("keys").description("API keys")
  keys
    .command("create")
    .description("print a new API key, once, with the settings to add for it")
    .addOption(configOption())
    .addOption(dataOption())
    .option("-u, --user <name>", "the user who is accountable for what is done with the key", "me")
    .option("--local", "replace the key of the local profile instead, in the data folder")
    .addHelpText("after", examples("svc keys create --user ada", "svc keys create --local"))
    .action(async (options) => finish(await (await import("#runtime/cli/keys.ts")).create(options)))

  svc.addCommand(pluginCommand())

  svc
    .command("doctor")
    .description("check this machine and the settings, and say what to do")
    .addOption(configOption())
    .addOption(portOption())
    .addOption(dataOption())
    .addOption(jsonOption())
    .addHelpText("after", examples("svc doctor", "svc doctor --json"))
    .action(async (options) => finish(await (await import("#runtime/cli/doctor.ts")).doctor(options)))

  return svc
}
