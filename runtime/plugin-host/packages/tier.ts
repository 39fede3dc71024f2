/**
 * Where a policy runs. One with a small budget runs in this thread, bounded by its fuel: 20 M in a tight loop took
 * 11 ms. One with a large budget gets threads of its own, which are ended at the deadline. Input and output have no tier yet: a package that asks for them is refused
 * when it is installed.
 */
import { foregroundFuel } from "#runtime/plugin-host/packages/budget.ts"
import type { Manifest } from "#runtime/plugin-host/packages/manifest.ts"

export type Tier = "here" | "thread"

export const tierOf = ({ limits }: Pick<Manifest, "limits">): Tier => (limits.fuel > foregroundFuel ? "thread" : "here")

/** What this version cannot give, one sentence each. */
export const unsupported = ({ permissions }: Pick<Manifest, "permissions">): ReadonlyArray<string> => [
  ...(permissions.net.length > 0 ? [`It asks for net (${permissions.net.join(", ")}): ${notYet}`] : []),
  ...(permissions.kv ? [`It asks for kv: ${notYet}`] : []),
]

const notYet =
  "this version of svc runs policies that are a function of their question and settings, and grants no more."
