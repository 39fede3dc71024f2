/** The tables of this version: whoever starts the service, or migrates without starting it, applies these. */
import { fileURLToPath } from "node:url"
import type { Migrations } from "#core/migrate.ts"

export const migrations: ReadonlyArray<Migrations> = [
  { owner: "core", directory: fileURLToPath(new URL("../core/migrations", import.meta.url)) },
]
