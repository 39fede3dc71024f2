/** How an entry of the lock file changes: pure. */
import type { LockEntry, Pinned } from "#runtime/plugin-host/packages/lock-file.ts"
import {
  chosen,
  compare,
  narrow,
  noPermissions,
  type PermissionName,
  type Permissions,
  widen,
} from "#runtime/plugin-host/packages/permissions.ts"

/** A new version. It becomes the active one when all that it asks for is granted, and waits otherwise. */
export const withVersion = (
  before: LockEntry | undefined,
  pinned: Pinned,
  { grant, enabled }: { readonly grant: ReadonlyArray<PermissionName>; readonly enabled: boolean | undefined },
): LockEntry =>
  settled({
    enabled: enabled ?? before?.enabled ?? true,
    active: before?.active ?? null,
    pending: pinned,
    grants: widen(before?.grants ?? noPermissions, chosen(pinned.permissions, grant)),
  })

export const withGrants = (entry: LockEntry, names: ReadonlyArray<PermissionName>): LockEntry =>
  settled({ ...entry, grants: widen(entry.grants, chosen(askedBy(entry), names)) })

/** The version that loses a permission does not run until it is granted again. */
export const withoutGrants = (entry: LockEntry, names: ReadonlyArray<PermissionName>): LockEntry => ({
  ...entry,
  grants: narrow(entry.grants, names),
})

/** All that any version of it asks for. */
export const askedBy = ({ active, pending }: LockEntry): Permissions =>
  widen(active?.permissions ?? noPermissions, pending?.permissions ?? noPermissions)

/** The version that the next grant is for. */
export const newest = ({ active, pending }: LockEntry): Pinned | null => pending ?? active

/** What waits and has its grants takes over; grants that nothing asks for any more are dropped. */
const settled = (entry: LockEntry): LockEntry => {
  const { pending, grants } = entry
  if (pending === null || compare(pending.permissions, grants).missing.length > 0) return entry
  return {
    ...entry,
    active: pending,
    pending: null,
    grants: narrow(grants, compare(pending.permissions, grants).unused),
  }
}
