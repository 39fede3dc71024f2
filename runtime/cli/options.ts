/** The options that commands share, as settings. */
import type { Effect } from "effect"
import { coerce, type Entry } from "#runtime/settings/entry.ts"
import { loadSettings } from "#runtime/settings/load.ts"
import type { SettingsInvalid } from "#runtime/settings/problem.ts"
import type { LoadedSettings } from "#runtime/settings/resolve.ts"

export interface SharedOptions {
  readonly config?: string
  readonly port?: string
  readonly data?: string
}

/** The settings with the command's options over them. */
export const settingsFor = ({ config, port, data }: SharedOptions): Effect.Effect<LoadedSettings, SettingsInvalid> => {
  const options: Array<Entry> = []
  if (port !== undefined) {
    options.push({
      path: ["Server", "Port"],
      value: coerce(port, "number"),
      source: { kind: "option", name: "--port" },
    })
  }
  if (data !== undefined) {
    options.push({ path: ["Data", "Directory"], value: data, source: { kind: "option", name: "--data" } })
  }
  return loadSettings({ config, options })
}
