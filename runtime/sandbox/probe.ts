/** Finds out what confines commands on this machine, by running one. */
import { mkdir, mkdtemp, readlink, realpath, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Duration, Effect } from "effect"
import type { Execution, SandboxStatus } from "#core/ports/sandbox.ts"
import { byBubblewrap } from "#runtime/sandbox/bubblewrap.ts"
import { defaultLimits, type SandboxLimits } from "#runtime/sandbox/limits.ts"
import { findProgram, lookAtMachine, type Machine } from "#runtime/sandbox/machine.ts"
import { byNamespaces } from "#runtime/sandbox/namespaces.ts"
import type { Program } from "#runtime/sandbox/program.ts"
import { runProgram } from "#runtime/sandbox/start.ts"
import type { Shown } from "#runtime/sandbox/view.ts"

export type Tool = "bubblewrap" | "namespaces"

export type Chosen =
  | {
      readonly _tag: "Found"
      readonly tool: Tool
      readonly reason: string
      readonly machine: Machine
      readonly program: (execution: Execution, shown: ReadonlyArray<Shown>, limits: SandboxLimits) => Promise<Program>
    }
  | { readonly _tag: "Nothing"; readonly reason: string }

export const statusOf = (chosen: Chosen): SandboxStatus =>
  chosen._tag === "Found"
    ? { backend: "lxc-native-linux", isRealIsolation: true, reason: chosen.reason }
    : { backend: "passthrough-deny", isRealIsolation: false, reason: chosen.reason }

type Found = Extract<Chosen, { readonly _tag: "Found" }>

export const probe = Effect.fn("Sandbox.probe")(function* (tools: ReadonlyArray<Tool>): Effect.fn.Return<Chosen> {
  if (process.platform !== "linux") return { _tag: "Nothing", reason: otherSystem() }
  const machine = yield* Effect.promise(lookAtMachine)
  const missing: Array<string> = []
  for (const tool of tools) {
    const candidate = yield* candidates[tool](machine)
    if (typeof candidate === "string") missing.push(candidate)
    // a machine that has much to do may fail once; the answer holds as long as the service lives
    else if ((yield* confines(candidate)) || (yield* confines(candidate))) return candidate
    else missing.push(`${candidate.reason}: the kernel, or the container that the service is in, does not allow it.`)
  }
  return {
    _tag: "Nothing",
    reason: `Nothing confines commands here, so they are refused. ${missing.join(" ")} ${advice}`,
  }
})

const advice =
  "Install bubblewrap, and allow user namespaces (sysctl user.max_user_namespaces and kernel.unprivileged_userns_clone above 0, kernel.apparmor_restrict_unprivileged_userns=0)."

const otherSystem = (): string =>
  process.platform === "win32"
    ? "Commands are refused: no process container is supported on Windows. Run the service in WSL 2 or in a Linux container, or give runs pods (Sandbox:AgentExecutionMode)."
    : `Commands are refused: nothing confines them on ${process.platform}. Run the service on Linux or in a Linux container, or give runs pods (Sandbox:AgentExecutionMode).`

/** What is missing, where it is a text. */
const candidates: Record<Tool, (machine: Machine) => Effect.Effect<Found | string>> = {
  bubblewrap: (machine) =>
    Effect.promise(async () => {
      if (process.getuid?.() === 0)
        return "bubblewrap is not used for root: it would let it change the rights of devices."
      const [bwrap, prlimit] = await Promise.all(["bwrap", "prlimit"].map(findProgram))
      if (bwrap === undefined || prlimit === undefined) return "bubblewrap is not installed."
      return {
        _tag: "Found",
        tool: "bubblewrap",
        reason: "Linux namespaces (bubblewrap)",
        machine,
        program: (execution, shown, limits) => byBubblewrap(bwrap, execution, shown, machine, limits),
      }
    }),
  namespaces: (machine) =>
    Effect.promise(async () => {
      const needed = ["unshare", "setpriv", "prlimit", "mount", "umount", "pivot_root"]
      const found = await Promise.all(needed.map(findProgram))
      const missing = needed.filter((_, index) => found[index] === undefined)
      if (missing.length > 0) return `util-linux is not complete: ${missing.join(", ")}.`
      const loopback = machine.loopback === undefined ? "; without loopback: install iproute2" : ""
      return {
        _tag: "Found",
        tool: "namespaces",
        reason: `Linux namespaces (unshare of util-linux)${loopback}`,
        machine,
        program: (execution, shown, limits) => byNamespaces(execution, shown, machine, limits),
      }
    }),
}

const namespaces = ["user", "pid", "mnt", "net", "ipc", "uts"] as const

/** A command is run, and has other namespaces than the service, and does not see what lies beside its checkout. */
const confines = (candidate: Found): Effect.Effect<boolean> =>
  Effect.scoped(
    Effect.gen(function* () {
      const folder = yield* Effect.acquireRelease(
        Effect.promise(async () => realpath(await mkdtemp(join(tmpdir(), "svc-sandbox-")))),
        (made) => Effect.promise(() => rm(made, { recursive: true, force: true })),
      )
      const checkout = join(folder, "checkout")
      yield* Effect.promise(() => Promise.all([mkdir(checkout), writeFile(join(folder, "hidden"), "")]))
      let said = ""
      const execution: Execution = {
        command: `for name in ${namespaces.join(" ")}; do readlink /proc/self/ns/$name; done; [ ! -e ../hidden ] && echo closed`,
        workingDirectory: checkout,
        mounts: [],
        network: false,
        direct: false,
        timeout: Duration.seconds(20),
        maxOutputBytes: 4_096,
        environment: {},
        onOutput: (_, chunk) => Effect.sync(() => (said += Buffer.from(chunk).toString("utf8"))),
      }
      const shown: ReadonlyArray<Shown> = [{ path: checkout, as: "writable" }]
      const program = yield* Effect.promise(() => candidate.program(execution, shown, defaultLimits))
      const { exitCode } = yield* runProgram(program, execution, { ...defaultLimits, freeBytes: 0 })
      const ours = yield* Effect.promise(() => Promise.all(namespaces.map((name) => readlink(`/proc/self/ns/${name}`))))
      const theirs = said.trim().split("\n")
      return (
        exitCode === 0 &&
        theirs.length === namespaces.length + 1 &&
        theirs.at(-1) === "closed" &&
        ours.every((name, index) => /^\w+:\[\d+\]$/.test(theirs[index] ?? "") && theirs[index] !== name)
      )
    }),
  ).pipe(Effect.orElseSucceed(() => false))
