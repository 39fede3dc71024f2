/**
 * Confines a command by Linux namespaces, with the programs of util-linux: `enter.sh` is process 1 of them. The
 * command runs as a user of its own that is nobody outside but the owner of the checkout, without any capability.
 */
import { stat } from "node:fs/promises"
import { dirname } from "node:path"
import { fileURLToPath } from "node:url"
import type { Execution } from "#core/ports/sandbox.ts"
import type { SandboxLimits } from "#runtime/sandbox/limits.ts"
import type { Machine } from "#runtime/sandbox/machine.ts"
import { type MountTable, readMountTable } from "#runtime/sandbox/mount-table.ts"
import { commandEnvironment, lastScript, type Program, variablesFor } from "#runtime/sandbox/program.ts"
import { resourceLimits } from "#runtime/sandbox/resource-limits.ts"
import type { Shown } from "#runtime/sandbox/view.ts"

/** A folder that is everywhere, and that no command sees: the new root is put together on it. */
const root = "/sys"
const script = fileURLToPath(new URL("./enter.sh", import.meta.url))

/** Ids below are not given out again once they have all been used. */
const reservedProcessIds = 300

export const byNamespaces = async (
  execution: Execution,
  shown: ReadonlyArray<Shown>,
  machine: Machine,
  limits: SandboxLimits,
): Promise<Program> => {
  const mounted = await readMountTable()
  const files = [...machine.devices, ...filesFor(machine, execution.network)]
  const network = execution.network ? [] : ["--net"]
  return {
    file: "setpriv",
    args: [
      ...["--pdeathsig", "KILL", "unshare", "--user", "--map-root-user", "--mount", "--pid", "--fork", "--kill-child"],
      ...["--ipc", "--uts", "--cgroup", ...network, "--", "/bin/sh", script, execution.workingDirectory],
      ...shown.flatMap(({ path, as }) => [path, as === "covered" ? "covered" : optionsOf(path, as, mounted)]),
    ],
    environment: {
      PATH: "/usr/sbin:/usr/bin:/sbin:/bin",
      LC_ALL: "C",
      SVC_ROOT: root,
      SVC_TABLE: tableOf(machine, limits, mounted, execution.network).join("\n"),
      SVC_FOLDERS: [...new Set(["/tmp", "/mnt", "/etc", ...files.map(dirname)])].map((path) => `.${path}`).join("\n"),
      SVC_FILES: files.join("\n"),
      SVC_LINKS: machine.links.join("\n"),
      SVC_LOOPBACK: execution.network ? "" : (machine.loopback ?? []).join("\n"),
      SVC_PIDS: machine.canLimitProcessIds ? String(reservedProcessIds + limits.processes) : "",
      SVC_LIMITS: resourceLimits(execution.timeout, limits, machine).join("\n"),
      SVC_LAST: lastScript,
      ...variablesFor(execution.command, commandEnvironment(machine.path, "/tmp", execution.environment)),
    },
    workingDirectory: execution.workingDirectory,
    saysReady: true,
    ...(await ownerOf(execution.workingDirectory)),
  }
}

/** Root without capabilities may not write what is somebody else's: the command is that somebody. */
const ownerOf = async (folder: string): Promise<Pick<Program, "owner">> => {
  if (process.getuid?.() !== 0) return {}
  const { uid, gid } = await stat(folder)
  return uid === 0 ? {} : { owner: { uid, gid } }
}

const optionsOf = (path: string, as: "writable" | "read-only", mounted: MountTable): string =>
  [as === "writable" ? "rw" : "ro", "nosuid", "nodev", ...(mounted.isNoexec(path) ? ["noexec"] : [])].join(",")

const filesFor = (machine: Machine, network: boolean): ReadonlyArray<string> =>
  network ? [...machine.files, ...machine.networkFiles] : machine.files

const tableOf = (
  machine: Machine,
  limits: SandboxLimits,
  mounted: MountTable,
  network: boolean,
): ReadonlyArray<string> => {
  const made = "X-mount.mkdir=0755"
  const inMemory = (path: string, bytes: number) =>
    line("svc", `${root}${path}`, "tmpfs", ["nosuid", "nodev", "mode=1777", `size=${bytes}`, made])
  const bound = (path: string, options: ReadonlyArray<string>) => line(path, `${root}${path}`, "none", options)
  const again = (path: string, options: ReadonlyArray<string>) =>
    line(`${root}${path}`, `${root}${path}`, "none", options)
  const noexec = (path: string) => (mounted.isNoexec(path) ? ["noexec"] : [])
  return [
    inMemory("/tmp", limits.temporaryBytes),
    inMemory("/dev/shm", limits.temporaryBytes),
    ...machine.folders.flatMap((folder) => [
      bound(folder, ["rbind", "ro", "nosuid", "nodev", ...noexec(folder), made]),
      // a recursive bind makes only its top read-only
      ...mounted.below(folder).map((path) => again(path, ["bind", "ro", "nosuid", "nodev", ...noexec(path)])),
    ]),
    ...filesFor(machine, network).map((file) => bound(file, ["bind", "ro", "nosuid", "nodev", "noexec"])),
    // devices can be written all the same; what cannot be changed is the entry, for everybody on the machine
    ...machine.devices.map((device) => bound(device, ["bind", "ro", "nosuid", "noexec"])),
    ...machine.kernelSettings.map((name) => again(`/proc/${name}`, ["bind", "ro", "nosuid", "nodev", "noexec"])),
  ]
}

const line = (source: string, target: string, type: string, options: ReadonlyArray<string>): string =>
  [escaped(source), escaped(target), type, options.join(",")].join(" ")

/** As fstab(5) wants it. */
const escaped = (path: string): string =>
  path.replace(/[\s\\#]/g, (character) => `\\${character.charCodeAt(0).toString(8).padStart(3, "0")}`)
