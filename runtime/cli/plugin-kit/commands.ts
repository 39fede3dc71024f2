/** `svc plugin new | build | test | backtest | verify-receipt`: the author's commands. Each loads what it needs when it is called. */
import { type Command, Option } from "commander"
import { configOption, dataOption, examples, finish, jsonOption } from "#runtime/cli/command.ts"

export const addKitCommands = (plugin: Command): void => {
  plugin
    .command("new <folder>")
    .description("write a new policy: it builds and passes its own cases")
    .requiredOption("--hook <question>", "the question that it answers")
    .addOption(new Option("--lang <language>", "TypeScript or AssemblyScript").choices(["ts", "as"]).default("ts"))
    .addOption(jsonOption())
    .addHelpText(
      "after",
      examples(
        "svc plugin new --hook steering.decide my-policy",
        "svc plugin new --hook tool.call --lang as path-guard",
      ),
    )
    .action(async (folder, options) =>
      finish(await (await import("#runtime/cli/plugin-kit/new.ts")).newPolicy(folder, options)),
    )

  plugin
    .command("build [folder]")
    .description("compile a policy, and write its digest into plugin.json")
    .addOption(jsonOption())
    .addHelpText("after", examples("svc plugin build", "svc plugin build ./my-policy"))
    .action(async (folder, options) =>
      finish(await (await import("#runtime/cli/plugin-kit/build.ts")).build(folder, options)),
    )

  plugin
    .command("test [folder]")
    .description("build a policy and run its cases where it will run: same instance, same limits, each case twice")
    .option("--no-build", "test what was built before")
    .addOption(jsonOption())
    .addHelpText("after", examples("svc plugin test", "svc plugin test ./my-policy --no-build --json"))
    .action(async (folder, options) =>
      finish(await (await import("#runtime/cli/plugin-kit/test.ts")).test(folder, options)),
    )

  recorded(plugin, "backtest <policy>", "ask a policy what was asked before; 1 where a guard would refuse other things")
    .addOption(new Option("--since <when>", "from the log, what is as young: 30d, 12h, or a moment (ISO 8601)"))
    .option("--run <id>", "from the log, this run alone")
    .addHelpText(
      "after",
      examples(
        "svc plugin backtest ./my-policy --since 30d",
        "svc plugin backtest my-policy-1.1.0.zip --file events.jsonl --json",
      ),
    )
    .action(async (policy, options) =>
      finish(await (await import("#runtime/cli/plugin-kit/backtest.ts")).backtest(policy, options)),
    )

  recorded(
    plugin,
    "verify-receipt <run> <sequence>",
    "ask the policies of a recorded decision again; 0 where all agrees",
  )
    .option("--policy <path>", "check this one alone: a folder or a package; else all, as they are installed")
    .option(
      "--input <file>",
      "what the record does not hold of the question, as a JSON object: redacted, cut or withheld",
    )
    .option("--setting <name=value...>", "settings that were granted then, where they were others than now")
    .addHelpText(
      "after",
      examples(
        "svc plugin verify-receipt 0b0c0d0e-0000-4000-8000-000000000001 12",
        "svc plugin verify-receipt RUN 12 --file events.jsonl --policy ./my-policy",
      ),
    )
    .action(async (run, sequence, options) =>
      finish(await (await import("#runtime/cli/plugin-kit/verify-receipt.ts")).verifyReceipt(run, sequence, options)),
    )
}

/** A command on decisions that were recorded. */
const recorded = (plugin: Command, name: string, description: string): Command =>
  plugin
    .command(name)
    .description(description)
    .option("--file <events.jsonl>", "from a file with one event a line, instead of the log")
    .addOption(configOption())
    .addOption(dataOption())
    .addOption(jsonOption())
