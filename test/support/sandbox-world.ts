/**
 * What commands in a sandbox try to reach: a data folder with a secret, another run's checkout, a process with a
 * secret, listeners. And the means to run commands beside it.
 */
import { type ChildProcess, spawn } from "node:child_process"
import { once } from "node:events"
import { mkdir, mkdtemp, readdir, readFile, realpath, rm, writeFile } from "node:fs/promises"
import { type AddressInfo, createServer } from "node:net"
import { networkInterfaces, tmpdir } from "node:os"
import { join } from "node:path"
import { Duration, Effect } from "effect"
import type { Executed, Execution } from "#core/ports/sandbox.ts"
import { defaultLimits, type SandboxLimits } from "#runtime/sandbox/limits.ts"
import type { Tool } from "#runtime/sandbox/probe.ts"
import { localSandbox } from "#runtime/sandbox/sandbox.ts"

export const secret = "canary-6f1d0c"

export interface World {
  readonly data: string
  readonly checkout: string
  readonly outside: string
  readonly library: string
  /** A process of the service's user, with the secret in its environment and its arguments. */
  readonly bystander: ChildProcess
  /** What the commands find in their environment of all this. */
  readonly environment: Readonly<Record<string, string>>
  readonly close: () => Promise<void>
}

export const makeWorld = async (): Promise<World> => {
  const folder = await realpath(await mkdtemp(join(tmpdir(), "svc-sandbox-test-")))
  const data = join(folder, "data")
  const runs = join(data, "git", "project", "runs")
  const checkout = join(runs, "mine", "tree")
  const other = join(runs, "other", "tree")
  const outside = join(folder, "outside")
  const library = join(folder, "library")
  for (const path of [join(checkout, ".git"), other, outside, library]) await mkdir(path, { recursive: true })
  for (const path of [data, join(checkout, ".git"), other, outside, library, join(runs, "mine")]) {
    await writeFile(join(path, "secret"), secret)
  }
  const bystander = spawn(process.execPath, ["-e", `setTimeout(() => {}, 600_000, "${secret}")`], {
    env: { CANARY: secret },
    cwd: outside,
    stdio: "ignore",
  })
  const server = () => createServer((socket) => socket.on("error", () => {}).end(secret))
  const servers = [server(), server(), server()] as const
  const [tcp, abstract, named] = servers
  tcp.listen(0, "0.0.0.0")
  const abstractName = `svc-sandbox-test-${process.pid}`
  abstract.listen(`\0${abstractName}`)
  named.listen(join(outside, "socket"))
  await Promise.all([...servers.map((one) => once(one, "listening")), once(bystander, "spawn")])
  const address = Object.values(networkInterfaces())
    .flat()
    .find((one) => one?.family === "IPv4" && !one.internal)
  return {
    data,
    checkout,
    outside,
    library,
    bystander,
    environment: {
      DATA: data,
      OTHER: other,
      OUTSIDE: outside,
      LIBRARY: library,
      BYSTANDER: String(bystander.pid),
      SERVICE: String(process.pid),
      PORT: String((tcp.address() as AddressInfo).port),
      ADDRESS: address?.address ?? "127.0.0.1",
      ABSTRACT: abstractName,
    },
    close: async () => {
      bystander.kill("SIGKILL")
      await Promise.all(servers.map((one) => new Promise((closed) => one.close(closed))))
      await rm(folder, { recursive: true, force: true })
    },
  }
}

export interface Told extends Executed {
  readonly output: string
}

/** Runs commands in the checkout of a world; `library` and `.git` are seen read-only. */
export const commandsIn = Effect.fnUntraced(function* (
  world: World,
  limits: Partial<SandboxLimits> = {},
  tools?: ReadonlyArray<Tool>,
) {
  const sandbox = yield* localSandbox(world.data, { ...defaultLimits, freeBytes: 0, ...limits }, tools)
  const run = Effect.fnUntraced(function* (command: string, given: Partial<Execution> = {}) {
    const chunks: Array<Uint8Array> = []
    const keep: Execution["onOutput"] = (_, chunk) => Effect.sync(() => chunks.push(chunk))
    const executed = yield* sandbox.run(executionIn(world, command, { onOutput: keep, ...given }))
    return { ...executed, output: Buffer.concat(chunks).toString("utf8") } satisfies Told
  })
  return { ...sandbox, run }
})

export const executionIn = (world: World, command: string, given: Partial<Execution> = {}): Execution => ({
  command,
  workingDirectory: world.checkout,
  mounts: [
    { path: world.library, writable: false },
    { path: join(world.checkout, ".git"), writable: false },
  ],
  network: false,
  direct: false,
  timeout: Duration.seconds(20),
  maxOutputBytes: 1_048_576,
  environment: world.environment,
  onOutput: () => Effect.void,
  ...given,
})

/** How many processes of this machine have `marker` among their arguments. */
export const processesWith = async (marker: string): Promise<number> => {
  const names = (await readdir("/proc")).filter((name) => /^\d+$/.test(name))
  const lines = await Promise.all(names.map((name) => readFile(`/proc/${name}/cmdline`, "utf8").catch(() => "")))
  return lines.filter((line) => line.split("\0").includes(marker)).length
}
