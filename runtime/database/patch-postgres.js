/**
 * Repairs the PostgreSQL driver, postgres.js 3.4.9, in node_modules: run by `npm ci` and `npm install`.
 *
 * As published, a statement that is sent on a connection whose server process has just died ends the
 * whole Node process (porsager/postgres 1066, 1154, 1208), or is left without an answer for ever. The
 * repair settles such a statement with an error. Plain JavaScript, because npm may run on a Node that
 * does not run TypeScript. Remove it when a release of the driver has the repair.
 */
import { createHash } from "node:crypto"
import { readFileSync, realpathSync, renameSync, writeFileSync } from "node:fs"
import { createRequire } from "node:module"
import { join, resolve } from "node:path"
import { fileURLToPath } from "node:url"

export const original = "ee3a218d9aa6a6f2887c1a19da50009335fe84c11a5431d5cab72d6bc528632f"
export const repaired = "f130941760d3957562994475732f37371c89fa1c47dbab48c20107d7442cb249"

/** What is replaced by what. Each text is there exactly once. */
export const repairs = [
  [
    // a connection without a socket: answer the statement, and tell the pool that the connection is not full
    `    if (terminated)
      return queryError(q, Errors.connection('CONNECTION_DESTROYED', options))
`,
    `    if (terminated)
      return queryError(q, Errors.connection('CONNECTION_DESTROYED', options))

    if (!socket)
      return queryError(q, Errors.connection('CONNECTION_CLOSED', options)), true
`,
  ],
  [
    // the socket went away between a statement and its writing
    `  function nextWrite(fn) {
    const x = socket.write(chunk, fn)
`,
    `  function nextWrite(fn) {
    if (!socket) {
      clearImmediate(nextWriteTimer)
      chunk = nextWriteTimer = null
      error(Errors.connection('CONNECTION_CLOSED', options))
      return false
    }

    const x = socket.write(chunk, fn)
`,
  ],
  [
    // what was not written belongs to the old connection
    `    incomings = null
    clearImmediate(nextWriteTimer)
`,
    `    incomings = null
    clearImmediate(nextWriteTimer)
    chunk = nextWriteTimer = null
`,
  ],
  [
    // a statement that came after the socket's error and before its end has no answer yet
    `    !hadError && (query || sent.length) && error(`,
    `    if (query || sent.length) error(`,
  ],
]

/** The driver's file that is repaired. */
export const connectionFile = () =>
  resolve(createRequire(import.meta.url).resolve("postgres"), "../../../src/connection.js")

/** @returns {"original" | "repaired" | "unknown"} */
export const stateOf = (file = connectionFile()) => {
  const found = createHash("sha256").update(readFileSync(file)).digest("hex")
  return found === repaired ? "repaired" : found === original ? "original" : "unknown"
}

/** Repairs the file where that is needed. Throws for a file that is neither the original nor repaired. */
export const repair = (file = connectionFile()) => {
  const state = stateOf(file)
  if (state === "repaired") return
  if (state === "unknown") {
    throw new Error(
      `${file} is not that of postgres 3.4.9. Install that version (npm ci), or bring ${join("runtime", "database", "patch-postgres.js")} up to the installed one.`,
    )
  }
  let text = readFileSync(file, "utf8")
  for (const [from, to] of repairs) text = text.replace(from, () => to)
  // another process may read the file at this moment: replace it in one step
  const draft = `${file}.${process.pid}`
  writeFileSync(draft, text)
  renameSync(draft, file)
}

const asProgram = process.argv[1] !== undefined && realpathSync(process.argv[1]) === fileURLToPath(import.meta.url)
if (asProgram) {
  try {
    repair()
  } catch (error) {
    console.error(error instanceof Error ? error.message : error)
    process.exitCode = 1
  }
}
