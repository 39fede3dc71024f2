/** `svc keys create`. */
import { Effect } from "effect"
import { newApiKey } from "#runtime/api-key.ts"
import { type SharedOptions, settingsFor } from "#runtime/cli/options.ts"
import { type Outcome, outcome, runCommand, say } from "#runtime/cli/outcome.ts"
import { rotateLocalKey } from "#runtime/local-profile.ts"
import { SettingsInvalid } from "#runtime/settings/problem.ts"
import { valueAt } from "#runtime/settings/shape.ts"

interface CreateOptions extends SharedOptions {
  readonly user: string
  readonly local?: boolean
}

export const create = (options: CreateOptions): Promise<Outcome> =>
  runCommand(options.local === true ? rotate(options) : printNew(options.user))

const rotate = Effect.fnUntraced(function* (options: SharedOptions) {
  const { values } = yield* settingsFor(options)
  const { path } = yield* rotateLocalKey(values.Data.Directory)
  yield* say(`The local profile has a new key, in ${path}. Restart the service to use it.`)
  return outcome.done
})

const printNew = Effect.fnUntraced(function* (user: string) {
  if (valueAt(["Auth", "Keys", 0, "User"])?.issueOf(user) !== undefined) {
    const source = { kind: "option", name: "--user" } as const
    return yield* SettingsInvalid.of([{ path: "", source, message: `${JSON.stringify(user)} cannot be a user.` }])
  }
  const key = newApiKey()
  yield* say(
    [
      `New API key of ${user}, shown this once:`,
      "",
      `  ${key}`,
      "",
      "Add it to the settings file (svc.yml):",
      "",
      "  Auth:",
      "    Keys:",
      `      - Token: ${key}`,
      `        User: ${JSON.stringify(user)}`,
      "",
      "or to the environment, with the next free index:",
      "",
      `  Auth__Keys__0__Token=${key}`,
      `  Auth__Keys__0__User=${user}`,
    ].join("\n"),
  )
  return outcome.done
})
