/** The version of this service, from package.json. */
import { readFileSync } from "node:fs"

const { version: written }: { readonly version?: unknown } = JSON.parse(
  readFileSync(new URL("../package.json", import.meta.url), "utf8"),
)

export const version = typeof written === "string" ? written : "unknown"
