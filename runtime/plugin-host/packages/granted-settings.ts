/** What of a plugin's settings its policy was granted to read. */
import { canonicalJson } from "#core/canonical-json.ts"
import type { Permissions } from "#runtime/plugin-host/packages/permissions.ts"

/** By name, as text: strings as they are, everything else as JSON. `settings`: the plugin's section, decoded. */
export const grantedSettings = (settings: unknown, { config }: Permissions): ReadonlyMap<string, string> => {
  const section: ReadonlyMap<string, unknown> = new Map(
    typeof settings === "object" && settings !== null ? Object.entries(settings) : [],
  )
  return new Map(
    config.flatMap((name) => {
      const value = section.get(name)
      if (value === undefined) return []
      return [[name, typeof value === "string" ? value : canonicalJson(value)] as const]
    }),
  )
}
