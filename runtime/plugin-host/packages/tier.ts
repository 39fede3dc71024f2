/**
 * Where a policy runs. One with a small budget runs in this thread, bounded by its fuel: 20 M in a tight loop took 11 ms. One with a
 * large budget, or that calls hosts or keeps values, gets threads of its own, which are ended at the deadline.
 */
import { foregroundFuel } from "#runtime/plugin-host/packages/budget.ts"
import type { Manifest } from "#runtime/plugin-host/packages/manifest.ts"

export type Tier = "here" | "thread"

export const tierOf = ({ limits, permissions }: Pick<Manifest, "limits" | "permissions">): Tier =>
  limits.fuel > foregroundFuel || waits({ permissions }) ? "thread" : "here"

/** Does it ask for what takes time that is not its own? */
export const waits = ({ permissions }: Pick<Manifest, "permissions">): boolean =>
  permissions.net.length > 0 || permissions.kv
