/**
 * Reads the settings of this process: `svc.yml`, `svc.yaml` or `svc.json` of the working directory, or the
 * file that was named, with the environment and the command's options over it.
 *
 * From here on every secret among them is known to the redaction.
 */
import { readFileSync, statSync } from "node:fs"
import { relative, resolve } from "node:path"
import { Effect, Redacted } from "effect"
import { registerSecret } from "#core/redaction.ts"
import type { Entry } from "#runtime/settings/entry.ts"
import type { Environment } from "#runtime/settings/expand.ts"
import { SettingsInvalid } from "#runtime/settings/problem.ts"
import { type LoadedSettings, resolveSettings, type Written } from "#runtime/settings/resolve.ts"

export interface LoadOptions {
  /** A settings file; absent looks for one in the working directory. */
  readonly config?: string | undefined
  /** Values from the command line. */
  readonly options?: ReadonlyArray<Entry>
  readonly environment?: Environment
  readonly workingDirectory?: string
}

const fileNames = ["svc.yml", "svc.yaml", "svc.json"]

export const loadSettings = Effect.fnUntraced(function* (options: LoadOptions = {}) {
  const { environment = process.env, workingDirectory = process.cwd() } = options
  const file = yield* findFile(options.config, workingDirectory)
  const loaded: LoadedSettings = yield* Effect.fromResult(
    resolveSettings({
      ...(file === undefined ? {} : { file }),
      environment,
      options: options.options ?? [],
      workingDirectory,
    }),
  )
  registerSecrets(loaded.values)
  return loaded
})

const findFile = (
  config: string | undefined,
  workingDirectory: string,
): Effect.Effect<Written["file"], SettingsInvalid> =>
  Effect.suspend(() => {
    const candidates =
      config === undefined ? fileNames.filter((name) => isFile(resolve(workingDirectory, name))) : [config]
    const [name, other] = candidates
    if (name === undefined) return Effect.undefined
    if (other !== undefined) return refuse(`There are both ${name} and ${other}: keep one, or name it with --config.`)
    const path = resolve(workingDirectory, name)
    return Effect.try({
      try: () => ({ name: relative(workingDirectory, path) || name, path, text: readFileSync(path, "utf8") }),
      catch: (cause) => invalid(`The settings file ${name} cannot be read: ${String(cause)}`),
    })
  })

const invalid = (message: string) => SettingsInvalid.of([{ path: "", source: undefined, message }])

const refuse = (message: string) => Effect.fail(invalid(message))

const isFile = (path: string): boolean => statSync(path, { throwIfNoEntry: false })?.isFile() ?? false

export const registerSecrets = (value: unknown): void => {
  if (Redacted.isRedacted(value)) {
    const secret = Redacted.value(value)
    if (typeof secret !== "string") return
    registerSecret(secret)
    // a quote or backslash in it looks different in a line of JSON
    registerSecret(JSON.stringify(secret).slice(1, -1))
    // the password alone also appears in messages of the driver
    if (URL.canParse(secret)) registerSecret(new URL(secret).password)
  } else if (typeof value === "object" && value !== null) Object.values(value).forEach(registerSecrets)
}
