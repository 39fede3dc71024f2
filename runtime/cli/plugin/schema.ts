/** `svc plugin schema`. */
import { Effect } from "effect"
import { questionSchema } from "#core/hook.ts"
import { notYetAsked, questionNamed, questions } from "#policies/questions.ts"
import { type Outcome, outcome, runCommand, say } from "#runtime/cli/outcome.ts"
import { type PluginOptions, print } from "#runtime/cli/plugin/options.ts"
import { manifestJsonSchema } from "#runtime/plugin-host/packages/manifest-schema.ts"
import { refuse } from "#runtime/plugin-host/packages/refused.ts"

/** The name that stands for `plugin.json`: no question is called so. */
const manifest = "manifest"

export const schema = (name: string | undefined, options: PluginOptions): Promise<Outcome> =>
  runCommand(
    Effect.gen(function* () {
      if (name === undefined) {
        const all = questions.map(({ name, kind, summary }) => ({
          name,
          kind,
          summary,
          asked: !notYetAsked.includes(name),
        }))
        const lines = all.map(
          (each) =>
            `${each.name.padEnd(16)}  ${each.kind.padEnd(6)}  ${each.summary}${each.asked ? "" : " (Not yet asked.)"}`,
        )
        yield* print(options, all, lines.join("\n"))
        return outcome.done
      }
      const question = questionNamed(name)
      if (question === undefined && name !== manifest) {
        const known = questions.map((each) => each.name).join(", ")
        return yield* refuse("unknown", `There is no question ${name}. The questions are: ${known}; and manifest.`)
      }
      yield* say(JSON.stringify(question === undefined ? manifestJsonSchema() : questionSchema(question), null, 2))
      return outcome.done
    }),
  )
