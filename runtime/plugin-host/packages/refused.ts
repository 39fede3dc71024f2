/** Why a package, or a change of what is installed, is refused. The message says what to do about it. */
import { Schema } from "effect"
import { Issue } from "#core/refusal.ts"

export const packageReasons = [
  /** A file or folder cannot be read or written. */
  "unreadable",
  /** `plugin.json` is not valid here; `issues` says what and where. */
  "manifest",
  /** The archive is not one of ours: its entries, their number, names or sizes. */
  "archive",
  /** The module is another one than the manifest says. */
  "modified",
  /** The signature is missing, wrong, or of a key that is not trusted. */
  "signature",
  /** The module was not admitted: what it imports, or how large it is. */
  "module",
  /** There is no such plugin, permission, key or question. */
  "unknown",
  /** It does not fit what is installed. */
  "conflict",
  /** A file of the plugins folder is damaged, or another process is changing it. */
  "state",
] as const

export class PackageRefused extends Schema.TaggedError<PackageRefused>()("PackageRefused", {
  reason: Schema.Literals(packageReasons),
  message: Schema.String,
  issues: Schema.optionalKey(Schema.Array(Issue)),
}) {}

export const refuse = (reason: PackageRefused["reason"], message: string): PackageRefused =>
  new PackageRefused({ reason, message })

/** For `catch` of a file operation: `It cannot be read: …`. */
export const because = (reason: PackageRefused["reason"], what: string) => (error: unknown) =>
  refuse(reason, `${what}: ${error instanceof Error ? error.message : String(error)}`)
