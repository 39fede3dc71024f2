/**
 * The files of the embedded database: created once, completely or not at all, and the settings that
 * its server runs with.
 */
import { execFile } from "node:child_process"
import { randomBytes } from "node:crypto"
import { existsSync } from "node:fs"
import {
  chmod,
  chown,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  realpath,
  rename,
  rm,
  stat,
  writeFile,
} from "node:fs/promises"
import { createServer } from "node:net"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { promisify } from "node:util"
import { Redacted } from "effect"
import type { Server } from "#core/sql.ts"
import { DatabaseNotStarted } from "#runtime/database/not-started.ts"
import { commandOf, credentials, findPrograms, type Programs } from "#runtime/database/programs.ts"

/** Where everything of one embedded database is. */
export interface Cluster {
  readonly programs: Programs
  /** What PostgreSQL calls the data directory. */
  readonly data: string
  readonly address: ClusterAddress
  readonly log: string
}

/**
 * A unix socket in a folder that nobody else can enter or, where Node has none (Windows), a port of
 * this machine and a password.
 */
export type ClusterAddress =
  | { readonly kind: "socket"; readonly folder: string }
  | { readonly kind: "port"; readonly port: number; readonly password: Redacted.Redacted }

export const role = "svc"
export const database = "postgres"
/** Names the socket; no port of the machine is used. */
const socketPort = 5432

/** How a client reaches it. */
export const serverOf = ({ address }: Cluster): Server =>
  address.kind === "socket"
    ? { host: address.folder, port: socketPort, user: role, database }
    : { host: loopback, port: address.port, user: role, database, password: address.password }

/** The file of the unix socket. */
export const socketFile = ({ address }: Cluster): string | undefined =>
  address.kind === "socket" ? join(address.folder, `.s.PGSQL.${socketPort}`) : undefined

const loopback = "127.0.0.1"

const run = promisify(execFile)
const initMillis = 60_000
/** A unix socket's path may have 103 bytes on macOS and 107 on Linux, and its lock file has five more. */
const longestSocketPath = 98

export interface ClusterOptions {
  readonly kind?: ClusterAddress["kind"]
  /** Where absent, the best that is found. */
  readonly programs?: Programs
}

/** The cluster in `folder`, created where there is none. */
export const openCluster = async (folder: string, options: ClusterOptions = {}): Promise<Cluster> => {
  await mkdir(folder, { recursive: true, mode: 0o700 })
  const real = await realpath(folder)
  const programs = options.programs ?? (await findPrograms(real))
  const data = join(real, "cluster")
  const kind = options.kind ?? (process.platform === "win32" ? "port" : "socket")
  const address = kind === "socket" ? await socketAddress(real) : await portAddress(real)
  if (existsSync(data)) await checkVersion(data, programs)
  await handOver(real, address, programs)
  if (!existsSync(data)) await create(programs, data, address)
  return { programs, data, address, log: join(real, "server.log") }
}

/** Removes what is not to stay when the server has stopped. */
export const closeCluster = async ({ data, address }: Cluster): Promise<void> => {
  const elsewhere = address.kind === "socket" && dirname(address.folder) !== dirname(data)
  if (elsewhere) await rm(address.folder, { recursive: true, force: true })
}

/** Small, because it stands beside the service on one machine: about 25 MB when idle. Nothing here gives up durability. */
export const serverArguments = ({ data, address, programs }: Cluster): ReadonlyArray<string> => {
  const socket = address.kind === "socket"
  const settings: Record<string, string | number> = {
    listen_addresses: socket ? "" : loopback,
    unix_socket_directories: socket ? quoted(address.folder) : "",
    unix_socket_permissions: "0700",
    max_connections: 100,
    shared_buffers: "64MB",
    jit: "off",
    // a client that went away must not keep its statement running
    client_connection_check_interval: process.platform === "linux" ? "1s" : 0,
    wal_level: "minimal",
    max_wal_senders: 0,
    max_wal_size: "256MB",
    autovacuum_max_workers: 2,
    max_logical_replication_workers: 0,
    max_parallel_workers_per_gather: 0,
    // neither statements nor the values of rows
    log_error_verbosity: "terse",
    log_min_error_statement: "panic",
    log_min_messages: "warning",
    log_timezone: "UTC",
    timezone: "UTC",
    ...(programs.version >= 18 ? { io_method: "sync" } : {}),
  }
  const port = String(socket ? socketPort : address.port)
  return ["-D", data, "-p", port, ...Object.entries(settings).flatMap(([name, value]) => ["-c", `${name}=${value}`])]
}

/** A setting that is a list of folders. */
const quoted = (folder: string): string => `"${folder.replaceAll('"', '""')}"`

/** Made beside its place, written to the disk, then renamed: an interrupted attempt leaves nothing that looks finished. */
const create = async (programs: Programs, data: string, address: ClusterAddress): Promise<void> => {
  const draft = `${data}.new`
  await rm(draft, { recursive: true, force: true })
  const locale = programs.version >= 17 ? ["--locale-provider=builtin", "--builtin-locale=C.UTF-8"] : ["--locale=C"]
  const access =
    address.kind === "socket" ? ["--auth=trust"] : ["--auth=scram-sha-256", `--pwfile=${passwordFile(dirname(data))}`]
  const make = ["-D", draft, "-U", role, "--encoding=UTF8", ...locale, ...access, "--no-instructions", "--no-sync"]
  for (const step of [make, ["-D", draft, "--sync-only"]]) {
    const [command, words] = commandOf(programs, "initdb", step)
    await run(command, words, {
      ...credentials(programs.user),
      cwd: dirname(data),
      env: programs.environment,
      timeout: initMillis,
      windowsHide: true,
    }).catch((error: Error) => {
      throw new DatabaseNotStarted({ message: `The database could not be created in ${data}: ${error.message}` })
    })
  }
  await rename(draft, data)
}

const checkVersion = async (data: string, programs: Programs): Promise<void> => {
  const version = Number((await readFile(join(data, "PG_VERSION"), "utf8")).trim())
  if (version === programs.version) return
  throw new DatabaseNotStarted({
    message: `The database in ${data} was made by PostgreSQL ${version}, and PostgreSQL ${programs.version} is what can be started here. Dump it with version ${version} and load it into a new one, or set DATABASE_URL.`,
  })
}

/** In the database's own folder, or in a new private one where that path is too long for a socket. */
const socketAddress = async (folder: string): Promise<ClusterAddress> => {
  const inside = join(folder, "run")
  if (Buffer.byteLength(join(inside, `.s.PGSQL.${socketPort}`)) > longestSocketPath) {
    return { kind: "socket", folder: await mkdtemp(join(await realpath(tmpdir()), "svc-")) }
  }
  await mkdir(inside, { recursive: true, mode: 0o700 })
  await chmod(inside, 0o700)
  return { kind: "socket", folder: inside }
}

export const passwordFile = (folder: string): string => join(folder, "password")

/** A port that is free now, and a password that is made with the cluster. */
const portAddress = async (folder: string): Promise<ClusterAddress> => {
  const file = passwordFile(folder)
  if (!existsSync(file)) await writeFile(file, randomBytes(24).toString("base64url"), { mode: 0o600 })
  const port = await new Promise<number>((resolve, reject) => {
    const probe = createServer().once("error", reject)
    probe.listen(0, loopback, () => {
      const bound = probe.address()
      probe.close(() => resolve(typeof bound === "object" && bound !== null ? bound.port : 0))
    })
  })
  return { kind: "port", port, password: Redacted.make(await readFile(file, "utf8")) }
}

/**
 * Gives the files to the user that the server runs as, and lets that user pass through the data folder.
 * Only root can, and needs to.
 */
const handOver = async (folder: string, address: ClusterAddress, programs: Programs): Promise<void> => {
  if (process.getuid?.() !== 0) return
  const user = programs.user ?? 0
  if ((await stat(folder)).uid !== user) {
    for (const name of await readdir(folder, { recursive: true })) await chown(join(folder, name), user, user)
    await chown(folder, user, user)
  }
  if (address.kind === "socket") await chown(address.folder, user, user)
  const above = dirname(folder)
  if (user !== 0) await chmod(above, (await stat(above)).mode | passThrough)
}

/** Others may pass through a folder, and still not list it. */
const passThrough = 0o001
