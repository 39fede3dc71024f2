/** `npm run bench -- NAME [--quick]`: runs one bench, prints its table, then one last line of JSON. */
import { access } from "node:fs/promises"
import { type Bench, printReport } from "#bench/report.ts"

const name = process.argv[2]
const file = new URL(`./${name}.ts`, import.meta.url)
const known =
  name !== undefined &&
  /^[a-z-]+$/.test(name) &&
  (await access(file).then(
    () => true,
    () => false,
  ))
if (!known) {
  console.error("usage: npm run bench -- event-log | streams | wasm | policies | memory | git | turn | coordinator")
  process.exit(2)
}

const { bench }: { bench: Bench } = await import(file.href)
printReport(name, await bench({ quick: process.argv.includes("--quick") }))
process.exit(0)
