/** Which folders one command sees besides the system's: decided here, by whatever tool they are shown. */
import { realpath, stat } from "node:fs/promises"
import { dirname } from "node:path"
import { Effect } from "effect"
import { type Execution, SandboxRefused } from "#core/ports/sandbox.ts"
import type { Machine } from "#runtime/sandbox/machine.ts"
import { isInside } from "#runtime/sandbox/mount-table.ts"

export interface Shown {
  readonly path: string
  /** `covered`: an empty folder is seen instead. */
  readonly as: "writable" | "read-only" | "covered"
}

export interface Seen {
  readonly machine: Machine
  /** Of the service: never seen, but for what is named in it. Real path, where it exists. */
  readonly dataFolder: string
}

/** With what is in them they are never shown, nor is what holds them. */
const reserved = [
  ...["/proc", "/sys", "/dev", "/run", "/boot", "/etc"],
  ...["/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"],
]
/** They are not shown as a whole; folders in them are. */
const partly = ["/usr", "/tmp", "/var", "/var/tmp", "/home", "/root", "/mnt", "/nix", "/nix/store"]

/** In the order that they are shown in: what is inside of another comes later. */
export const shownTo = Effect.fnUntraced(function* (
  { workingDirectory, mounts }: Pick<Execution, "workingDirectory" | "mounts">,
  { machine, dataFolder }: Seen,
): Effect.fn.Return<ReadonlyArray<Shown>, SandboxRefused> {
  const wanted: ReadonlyArray<Shown> = [
    { path: workingDirectory, as: "writable" },
    ...mounts.map(({ path, writable }): Shown => ({ path, as: writable ? "writable" : "read-only" })),
  ]
  for (const { path } of wanted) {
    if (!mayBeShown(path, machine, dataFolder)) {
      return yield* refuse("A folder that the command should see belongs to the system or the service.")
    }
    if (!(yield* Effect.promise(() => isRealFolder(path)))) {
      return yield* refuse("A folder that the command should see is not there, or is a link.")
    }
  }
  const isSeen = [...machine.folders, ...wanted.map(({ path }) => path)].some((folder) => isInside(dataFolder, folder))
  const shown: ReadonlyArray<Shown> = [...(isSeen ? [{ path: dataFolder, as: "covered" } as const] : []), ...wanted]
  const last = new Map(shown.map((one) => [one.path, one]))
  return [...last.values()].sort((one, other) => depth(one.path) - depth(other.path))
})

const mayBeShown = (path: string, machine: Machine, dataFolder: string): boolean => {
  const isOrHolds = (other: string): boolean => path === other || isInside(other, path)
  return (
    isPlain(path) &&
    path !== dataFolder &&
    !isOrHolds(machine.home) &&
    !partly.includes(path) &&
    !reserved.some((folder) => isOrHolds(folder) || isInside(path, folder))
  )
}

/** Absolute, and nothing in it that a line of text could not hold. */
const isPlain = (path: string): boolean =>
  path.startsWith("/") && path !== "/" && dirname(path) !== path && !/\p{Cc}/u.test(path)

const isRealFolder = async (path: string): Promise<boolean> => {
  try {
    return (await realpath(path)) === path && (await stat(path)).isDirectory()
  } catch {
    return false
  }
}

const depth = (path: string): number => path.split("/").length

const refuse = (reason: string) => Effect.fail(new SandboxRefused({ reason }))
