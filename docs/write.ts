/** `npm run docs`: writes the documents that are made from the code. */
import { writeFileSync } from "node:fs"
import { settingsReference } from "#runtime/settings/reference.ts"

writeFileSync(new URL("./settings.md", import.meta.url), settingsReference())
