/**
 * The embedded database of a service that runs: for commands that read beside it, on the same data folder. PostgreSQL says in
 * `postmaster.pid` where it listens, and on its eighth line whether it does.
 */
import { readFile } from "node:fs/promises"
import { join } from "node:path"
import { Redacted } from "effect"
import type { Server } from "#core/sql.ts"
import { database, passwordFile, role } from "#runtime/database/cluster.ts"
import { isAlive } from "#runtime/database/processes.ts"

/** Undefined where none is ready. */
export const runningServer = async (dataDirectory: string): Promise<Server | undefined> => {
  const folder = join(dataDirectory, "database")
  const text = await readFile(join(folder, "cluster", "postmaster.pid"), "utf8").catch(() => "")
  const [pid, , , port, socket, host, , status] = text.split("\n").map((line) => line.trim())
  if (status !== "ready" || !isAlive(Number(pid))) return undefined
  const asked = { port: Number(port), user: role, database }
  if (socket !== undefined && socket !== "") return { ...asked, host: socket }
  if (host === undefined || host === "") return undefined
  return { ...asked, host, password: Redacted.make(await readFile(passwordFile(folder), "utf8")) }
}
