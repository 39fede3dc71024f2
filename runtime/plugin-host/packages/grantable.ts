/** The operator's say in what may be granted at all: `Plugins:Grantable`. Whatever was granted before counts only within it. */
import { namesOf, narrow, type PermissionName, type Permissions } from "#runtime/plugin-host/packages/permissions.ts"

/** `net`: any origin; `net:https://api.example.com`: this one. The same with `config` and `kv`. */
export type Grantable = ReadonlyArray<string>

/** Where the operator says nothing else. */
export const everything: Grantable = ["config", "kv", "net"]

const kindOf = (name: PermissionName): string => name.split(":", 1)[0] ?? name

export const mayBeGranted = (name: PermissionName, grantable: Grantable = everything): boolean =>
  grantable.includes(name) || grantable.includes(kindOf(name))

/** The grants that count. */
export const effective = (grants: Permissions, grantable: Grantable = everything): Permissions =>
  narrow(
    grants,
    namesOf(grants).filter((name) => !mayBeGranted(name, grantable)),
  )

export const notGrantable = (plugin: string, names: ReadonlyArray<PermissionName>): string =>
  `${plugin} cannot be granted ${names.join(", ")}: Plugins:Grantable of this service does not allow it.`
