/** The settings that a policy would be asked with here. */
import { Result } from "effect"
import type { SettingsValues } from "#core/settings.ts"
import { readSettings } from "#runtime/plugin-host/check.ts"
import { grantedSettings } from "#runtime/plugin-host/packages/granted-settings.ts"
import type { Package } from "#runtime/plugin-host/packages/package.ts"
import type { Permissions } from "#runtime/plugin-host/packages/permissions.ts"
import { policyPlugin } from "#runtime/plugin-host/packages/policy-plugin.ts"

/** Its section of the settings, as far as it was granted; none where the section is not of the form that the policy says. */
export const settingsGranted = (
  found: Package,
  grants: Permissions,
  { Plugins }: Pick<SettingsValues, "Plugins">,
): ReadonlyMap<string, string> => {
  const section = readSettings(policyPlugin(found, grants), Plugins.Settings)
  return Result.isSuccess(section) ? grantedSettings(section.success, grants) : new Map()
}
