/**
 * `switches.json`: which plugins an administrator switched on or off that are code of the service, so that it lasts. Packages have
 * theirs in the lock file.
 */
import { Effect, Schema } from "effect"
import { changing, readText, replaceFile, switchesFilePath } from "#runtime/plugin-host/packages/plugins-folder.ts"
import { type PackageRefused, refuse } from "#runtime/plugin-host/packages/refused.ts"

const Switches = Schema.Struct({ version: Schema.Literal(1), plugins: Schema.Record(Schema.String, Schema.Boolean) })

export type Switches = ReadonlyMap<string, boolean>

export const readSwitches = (plugins: string): Effect.Effect<Switches, PackageRefused> =>
  Effect.gen(function* () {
    const path = switchesFilePath(plugins)
    const text = yield* readText(path)
    if (text === undefined) return new Map<string, boolean>()
    const switches = yield* Schema.decodeEffect(Schema.fromJsonString(Switches))(text).pipe(
      Effect.mapError(({ message }) => refuse("state", `${path} cannot be understood: ${message}.`)),
    )
    return new Map(Object.entries(switches.plugins))
  })

export const writeSwitch = (plugins: string, name: string, on: boolean): Effect.Effect<void, PackageRefused> =>
  Effect.gen(function* () {
    const all = new Map(yield* readSwitches(plugins)).set(name, on)
    const sorted = [...all].toSorted(([a], [b]) => (a < b ? -1 : 1))
    const written: typeof Switches.Type = { version: 1, plugins: Object.fromEntries(sorted) }
    yield* replaceFile(switchesFilePath(plugins), `${JSON.stringify(written, null, 2)}\n`)
  }).pipe(changing(plugins))
