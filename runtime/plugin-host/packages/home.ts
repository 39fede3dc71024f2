/** Where packages are installed, and what the operator lets them have: from the settings. */
import type { SettingsValues } from "#core/settings.ts"
import type { Outgoing } from "#runtime/outgoing/outgoing.ts"
import type { Budget } from "#runtime/plugin-host/packages/budget.ts"
import type { Grantable } from "#runtime/plugin-host/packages/grantable.ts"
import type { ManifestWorld } from "#runtime/plugin-host/packages/manifest.ts"
import { pluginsFolder } from "#runtime/plugin-host/packages/plugins-folder.ts"
import { version } from "#runtime/version.ts"

export interface Home {
  /** The plugins folder: see plugins-folder.ts. */
  readonly plugins: string
  readonly world: ManifestWorld
  /** Absent: everything. */
  readonly grantable?: Grantable
  /** What policies call hosts with. Absent: each its own, to public addresses alone. */
  readonly outgoing?: Outgoing["Service"]
}

const kibibyte = 1_024
const mebibyte = 1_024 * kibibyte

export const homeOf = ({ Data, Plugins }: Pick<SettingsValues, "Data" | "Plugins">): Home => ({
  plugins: Plugins.Directory ?? pluginsFolder(Data.Directory),
  world: { version, ceiling: ceilingOf(Plugins.Ceiling) },
  grantable: Plugins.Grantable,
})

const ceilingOf = (ceiling: SettingsValues["Plugins"]["Ceiling"]): Budget => ({
  memory: ceiling.MemoryMiB * mebibyte,
  fuel: ceiling.Fuel,
  input: ceiling.InputKiB * kibibyte,
  output: ceiling.OutputKiB * kibibyte,
  wallClock: ceiling.WallClockMilliseconds,
})
