/** `svc plugin new`. */
import { relative } from "node:path"
import { Effect } from "effect"
import { type Outcome, outcome, runCommand } from "#runtime/cli/outcome.ts"
import { print, unasked } from "#runtime/cli/plugin/options.ts"
import { entryOf, type Language } from "#runtime/plugin-host/kit/folder.ts"
import { linkService, newPolicy as write } from "#runtime/plugin-host/kit/new-policy.ts"

interface NewOptions {
  readonly hook: string
  readonly lang: Language
  readonly json?: boolean
}

export const newPolicy = (folder: string, options: NewOptions): Promise<Outcome> =>
  runCommand(
    Effect.gen(function* () {
      const written = yield* write(folder, options.hook, options.lang)
      const linked = yield* linkService(written.folder)
      const here = relative(process.cwd(), written.folder) || "."
      const text = [
        `Wrote ${written.name}, a policy for ${options.hook}, to ${here}.`,
        "",
        ...(here === "." ? [] : [`  cd ${here}`]),
        ...(linked ? [] : ["  npm install"]),
        "  npm test",
        "",
        `The policy is ${entryOf[written.language]}; what it has to answer is in cases.`,
        ...unasked([options.hook]),
      ].join("\n")
      yield* print(options, { ...written, linked }, text)
      return outcome.done
    }),
  )
