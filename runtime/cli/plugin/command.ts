/** `svc plugin …`: its commands and their help. Each loads what it needs when it is called. */
import { Command } from "commander"
import { configOption, dataOption, examples, finish, jsonOption } from "#runtime/cli/command.ts"
import { addKitCommands } from "#runtime/cli/plugin-kit/commands.ts"

export const pluginCommand = (): Command => {
  const plugin = new Command("plugin")
    .description("policies in WebAssembly: check, pack, sign, install, grant")
    .helpOption("-h, --help", "show help")
    .helpCommand("help [command]", "show help for a command")
    .exitOverride()
    .showHelpAfterError("(svc plugin --help shows what there is)")
    .addHelpText("after", examples("svc plugin validate ./my-policy", "svc plugin list", "svc plugin schema tool.call"))
  addKitCommands(plugin)
  addAuthorCommands(plugin)
  addOperatorCommands(plugin)
  return plugin
}

const addAuthorCommands = (plugin: Command): void => {
  placed(plugin, "validate <path>", "check a folder or an archive: manifest, module, permissions, signature")
    .addHelpText("after", examples("svc plugin validate ./my-policy", "svc plugin validate my-policy-1.0.0.zip --json"))
    .action(async (path, options) =>
      finish(await (await import("#runtime/cli/plugin/validate.ts")).validate(path, options)),
    )

  placed(plugin, "pack <folder>", "put a package into one file, the same bytes for the same package")
    .option("-o, --output <file>", "where to write it; else NAME-VERSION.zip here")
    .option("--write-digest", "first write the SHA-256 of the module into plugin.json")
    .addHelpText(
      "after",
      examples("svc plugin pack ./my-policy --write-digest", "svc plugin pack ./my-policy -o out.zip"),
    )
    .action(async (folder, options) =>
      finish(await (await import("#runtime/cli/plugin/pack.ts")).pack(folder, options)),
    )

  placed(plugin, "sign <folder>", "sign the manifest, which names the module by digest; writes plugin.sig")
    .requiredOption("-k, --key <file>", "private Ed25519 key in PEM")
    .option("--create", "make a new key in that file, where there is none")
    .addHelpText(
      "after",
      examples(
        "svc plugin sign ./my-policy --key ~/keys/policies.pem --create",
        "svc plugin sign ./my-policy --key k.pem",
      ),
    )
    .action(async (folder, options) =>
      finish(await (await import("#runtime/cli/plugin/sign.ts")).sign(folder, options)),
    )

  plugin
    .command("schema [question]")
    .description("JSON Schema of both sides of a question, or of plugin.json (manifest); without a name, what there is")
    .addOption(jsonOption())
    .addHelpText(
      "after",
      examples("svc plugin schema", "svc plugin schema steering.decide", "svc plugin schema manifest"),
    )
    .action(async (question, options) =>
      finish(await (await import("#runtime/cli/plugin/schema.ts")).schema(question, options)),
    )
}

const addOperatorCommands = (plugin: Command): void => {
  placed(plugin, "verify <path>", "whose signature a package has, and whether it is trusted here; 0 when it is")
    .addHelpText("after", examples("svc plugin verify my-policy-1.0.0.zip"))
    .action(async (path, options) =>
      finish(await (await import("#runtime/cli/plugin/verify.ts")).verify(path, options)),
    )

  placed(plugin, "trust <key>", "trust what a public key signs, or stop doing so")
    .option("--name <owner>", "whose key it is", "unnamed")
    .option("--revoke", "what the key signed does not run any more; a key id is enough")
    .addHelpText("after", examples("svc plugin trust ed25519:… --name acme", "svc plugin trust 0f9c3a… --revoke"))
    .action(async (key, options) => finish(await (await import("#runtime/cli/plugin/trust.ts")).trust(key, options)))

  placed(plugin, "install <path>", "install a package, or another version of it")
    .option("--grant <permission...>", "grant these; `all` for all that it asks for")
    .option("--allow-unsigned", "accept it without a signature")
    .option("--disabled", "install it switched off")
    .addHelpText(
      "after",
      examples("svc plugin install my-policy-1.0.0.zip", "svc plugin install ./my-policy --allow-unsigned --grant all"),
    )
    .action(async (path, options) =>
      finish(await (await import("#runtime/cli/plugin/install.ts")).install(path, options)),
    )

  placed(plugin, "uninstall <name>", "remove a plugin, with its grants")
    .addHelpText("after", examples("svc plugin uninstall my-policy"))
    .action(async (name, options) =>
      finish(await (await import("#runtime/cli/plugin/uninstall.ts")).uninstall(name, options)),
    )

  for (const verb of ["enable", "disable"] as const) {
    placed(plugin, `${verb} <name>`, verb === "enable" ? "let an installed plugin run" : "keep it installed, and off")
      .addHelpText("after", examples(`svc plugin ${verb} my-policy`))
      .action(async (name, options) =>
        finish(await (await import("#runtime/cli/plugin/switch.ts")).switchTo(name, verb === "enable", options)),
      )
  }

  placed(plugin, "list", "every installed plugin, with its state and signature")
    .addHelpText("after", examples("svc plugin list", "svc plugin list --json"))
    .action(async (options) => finish(await (await import("#runtime/cli/plugin/list.ts")).list(options)))

  placed(plugin, "inspect <name>", "all that is known of an installed plugin")
    .addHelpText("after", examples("svc plugin inspect my-policy"))
    .action(async (name, options) =>
      finish(await (await import("#runtime/cli/plugin/inspect.ts")).inspect(name, options)),
    )

  placed(plugin, "grant <name> [permission...]", "grant what a plugin asks for: all of it, or what is named")
    .addHelpText("after", examples("svc plugin grant my-policy", "svc plugin grant my-policy config:threshold"))
    .action(async (name, names, options) =>
      finish(await (await import("#runtime/cli/plugin/permissions.ts")).grant(name, names, options)),
    )

  placed(plugin, "revoke <name> [permission...]", "take grants back: all of them, or those named")
    .addHelpText("after", examples("svc plugin revoke my-policy config:threshold"))
    .action(async (name, names, options) =>
      finish(await (await import("#runtime/cli/plugin/permissions.ts")).revoke(name, names, options)),
    )

  placed(plugin, "doctor", "check all that is installed, and say what to do")
    .addHelpText("after", examples("svc plugin doctor"))
    .action(async (options) => finish(await (await import("#runtime/cli/plugin/doctor.ts")).doctor(options)))
}

/** A command on the plugins of a data folder. */
const placed = (plugin: Command, name: string, description: string): Command =>
  plugin
    .command(name)
    .description(description)
    .addOption(configOption())
    .addOption(dataOption())
    .addOption(jsonOption())
