/** What of the machine every command may see, and what the machine can do: found out once. */
import { access, constants, lstat, readdir, realpath, stat } from "node:fs/promises"
import { homedir, release } from "node:os"
import { delimiter, dirname, join } from "node:path"
import { isInside } from "#runtime/sandbox/mount-table.ts"

export interface Machine {
  /** Seen read-only at the same path. */
  readonly folders: ReadonlyArray<string>
  readonly files: ReadonlyArray<string>
  /** Those that only a command with a network needs. */
  readonly networkFiles: ReadonlyArray<string>
  readonly devices: ReadonlyArray<string>
  /** Links at the top and in /dev that lead to what is seen. */
  readonly links: ReadonlyArray<string>
  /** Names in /proc through which root, even without rights, could change the machine. */
  readonly kernelSettings: ReadonlyArray<string>
  /** Where commands look for programs. */
  readonly path: string
  /** A program with its arguments that brings the loopback device up. */
  readonly loopback: ReadonlyArray<string> | undefined
  /** Highest process ids can be set for a process namespace alone (Linux 6.14). */
  readonly canLimitProcessIds: boolean
  /** Processes are counted for each user namespace (Linux 5.14), and not together with all others of the user. */
  readonly canCountProcesses: boolean
  /** Of the user that the service runs as. Real path. */
  readonly home: string
}

const systemFolders = ["/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/nix/store", "/gnu/store"]

/** Public parts of /etc: what programs need to find libraries, certificates and time zones. No keys, no accounts. */
const settingFolders = [
  "/etc/alternatives",
  "/etc/ssl/certs",
  "/etc/pki/tls/certs",
  "/etc/pki/ca-trust",
  "/etc/ca-certificates",
]
const settingFiles = [
  "/etc/ld.so.cache",
  "/etc/localtime",
  "/etc/nsswitch.conf",
  "/etc/os-release",
  "/etc/protocols",
  "/etc/services",
  "/etc/ssl/openssl.cnf",
]
const devices = ["/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"]
const deviceLinks = ["/dev/fd", "/dev/stdin", "/dev/stdout", "/dev/stderr"]

const systemPath = ["/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin"]

const kindOf = (path: string): Promise<"link" | "folder" | "file" | undefined> =>
  lstat(path).then(
    (found) => (found.isSymbolicLink() ? "link" : found.isDirectory() ? "folder" : "file"),
    () => undefined,
  )

const existing = async (paths: ReadonlyArray<string>): Promise<ReadonlyArray<string>> => {
  const there = await Promise.all(paths.map(async (path) => (await stat(path).catch(() => undefined)) !== undefined))
  return paths.filter((_, index) => there[index])
}

/** The first program of this name on the way that the service itself looks for programs. */
export const findProgram = async (name: string): Promise<string | undefined> => {
  for (const folder of [...(process.env.PATH ?? "").split(delimiter), ...systemPath]) {
    if (!folder.startsWith("/")) continue
    const path = join(folder, name)
    const isProgram = await access(path, constants.X_OK).then(
      () => true,
      () => false,
    )
    if (isProgram && (await stat(path)).isFile()) return path
  }
  return undefined
}

/** Folders with the programs of Node.js that the service runs with, and of npm, where they are not the system's. */
const nodeFolders = async (): Promise<{
  readonly programs: ReadonlyArray<string>
  readonly all: ReadonlyArray<string>
}> => {
  const npm = await findProgram("npm")
  const installations = [
    dirname(dirname(await realpath(process.execPath))),
    ...(/^(.+)\/lib\/node_modules\/npm\//.exec(npm === undefined ? "" : await realpath(npm))?.slice(1, 2) ?? []),
  ].filter((folder) => folder !== "/" && !systemFolders.some((system) => system === folder || isInside(folder, system)))
  const programs = await existing([...new Set(installations)].map((folder) => join(folder, "bin")))
  const modules = await existing(programs.map((folder) => join(dirname(folder), "lib", "node_modules")))
  return { programs, all: [...programs, ...modules] }
}

const perl =
  "socket(S,2,2,0);$i=pack('a16x16','lo');ioctl(S,0x8913,$i)or die;" +
  "$f=unpack('x16s',$i);ioctl(S,0x8914,pack('a16sx14','lo',$f|1))or die"

const findLoopback = async (): Promise<ReadonlyArray<string> | undefined> => {
  const ways: ReadonlyArray<readonly [string, ReadonlyArray<string>]> = [
    ["ip", ["link", "set", "lo", "up"]],
    ["ifconfig", ["lo", "up"]],
    ["busybox", ["ip", "link", "set", "lo", "up"]],
    ["perl", ["-e", perl]],
  ]
  for (const [name, args] of ways) {
    const program = await findProgram(name)
    if (program !== undefined) return [program, ...args]
  }
  return undefined
}

const writable = 0o222

const findKernelSettings = async (): Promise<ReadonlyArray<string>> => {
  // without types: to find out that of a process that has just ended would fail
  const names = (await readdir("/proc")).filter((name) => !/^\d+$/.test(name))
  const found = await Promise.all(
    names.map(async (name) => {
      const entry = await lstat(join("/proc", name))
      return !entry.isSymbolicLink() && (entry.isDirectory() || (entry.mode & writable) !== 0) ? [name] : []
    }),
  )
  return found.flat()
}

const kernelIs = (major: number, minor: number): boolean => {
  const [, ours = "0", oursMinor = "0"] = /^(\d+)\.(\d+)/.exec(release()) ?? []
  return Number(ours) > major || (Number(ours) === major && Number(oursMinor) >= minor)
}

export const lookAtMachine = async (): Promise<Machine> => {
  const node = await nodeFolders()
  const kinds = await Promise.all(systemFolders.map(async (path) => ({ path, kind: await kindOf(path) })))
  return {
    folders: [
      ...kinds.flatMap(({ path, kind }) => (kind === "folder" ? [path] : [])),
      ...(await existing(settingFolders)),
      ...node.all,
    ],
    files: await existing(settingFiles),
    networkFiles: await existing(["/etc/resolv.conf"]),
    devices: await existing(devices),
    links: [...kinds.flatMap(({ path, kind }) => (kind === "link" ? [path] : [])), ...(await existing(deviceLinks))],
    kernelSettings: await findKernelSettings(),
    path: [...node.programs, ...systemPath].join(delimiter),
    loopback: await findLoopback(),
    canLimitProcessIds: kernelIs(6, 14),
    canCountProcesses: kernelIs(5, 14),
    home: await realpath(homedir()).catch(() => "/root"),
  }
}
