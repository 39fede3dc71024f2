/** `svc config print` and `svc config schema`. */
import { Effect, Schema } from "effect"
import { SettingsSchema } from "#core/settings.ts"
import { type SharedOptions, settingsFor } from "#runtime/cli/options.ts"
import { type Outcome, outcome, runCommand, say } from "#runtime/cli/outcome.ts"
import { settingsTable, showSettings } from "#runtime/settings/print.ts"

export const print = (options: SharedOptions & { readonly json?: boolean }): Promise<Outcome> =>
  runCommand(
    Effect.gen(function* () {
      const rows = showSettings(yield* settingsFor(options))
      yield* say(options.json === true ? JSON.stringify(rows, null, 2) : settingsTable(rows))
      return outcome.done
    }),
  )

export const schema = (): Promise<Outcome> =>
  runCommand(
    Effect.gen(function* () {
      const { schema: root, definitions } = Schema.toJsonSchemaDocument(SettingsSchema, { onExcessProperty: "error" })
      const document = {
        $schema: "https://json-schema.org/draft/2020-12/schema",
        title: "Settings of svc",
        ...root,
        ...(Object.keys(definitions).length === 0 ? {} : { $defs: definitions }),
      }
      yield* say(JSON.stringify(document, null, 2))
      return outcome.done
    }),
  )
