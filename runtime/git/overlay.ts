/**
 * Overlay file systems: many checkouts show the files of one, each keeps only what was changed in it. Linux,
 * and with the right to mount in the namespace of the service: only then the service sees what agents do.
 * Whether that is so is tried out.
 */
import { mkdir, mkdtemp, readFile, stat, writeFile } from "node:fs/promises"
import { dirname, join, relative } from "node:path"
import { Effect } from "effect"
import type { CheckoutFailed } from "#core/ports/checkouts.ts"
import { failed, onDisk } from "#runtime/git/failed.ts"
import { absent, type RunFolder } from "#runtime/git/folders.ts"
import { system } from "#runtime/git/system.ts"

/**
 * `redirect_dir`: a folder of the base can be renamed. `index=off`: the base may be mounted many times over.
 */
const options = ["nosuid", "nodev", "redirect_dir=on", "index=off", "metacopy=off"]

type Folders = Pick<RunFolder, "path" | "tree">

/** Mounts `tree` over `base`. The paths are relative: none of their characters means anything to `mount`. */
export const mountOverlay = Effect.fnUntraced(function* (folder: Folders, base: string) {
  const layers = [`lowerdir=${relative(folder.path, base)}`, "upperdir=upper", "workdir=work"]
  const code = yield* system(
    "mount",
    ["-t", "overlay", "-o", [...options, ...layers].join(","), "svc", "tree"],
    folder.path,
  )
  if (code !== 0) return yield* failed("unavailable", "The checkout could not be mounted.")
})

/** A mount has a device of its own. */
export const isMounted = (folder: Folders): Effect.Effect<boolean, CheckoutFailed> =>
  onDisk(async () => {
    const [tree, around] = await Promise.all([stat(folder.tree).catch(absent), stat(folder.path).catch(absent)])
    return tree !== undefined && around !== undefined && tree.dev !== around.dev
  })

/** Also while a process is in it: it then ends when the last one leaves. */
export const unmount = Effect.fnUntraced(function* (folder: Folders) {
  for (let times = 0; times < 3 && (yield* isMounted(folder)); times++) {
    if ((yield* system("umount", [folder.tree], folder.path)) === 0) continue
    yield* system("umount", ["-l", folder.tree], folder.path)
  }
})

/** Unmounts what nobody uses, and leaves the rest. */
export const unmountIdle = (folders: ReadonlyArray<Folders>): Effect.Effect<void> =>
  folders.length === 0
    ? Effect.void
    : Effect.asVoid(
        system(
          "umount",
          folders.map(({ tree }) => tree),
          "/",
        ),
      )

/**
 * One process of its own, that outlives a service killed meanwhile: the mount is taken from the tree of files as
 * soon as the process is in it, and nothing stays behind.
 */
const probe = `
trap 'cd / && rm -rf -- "$2"' EXIT
mount -t overlay -o "$1" svc tree && cd tree || exit 1
umount -l "$2/tree" || exit 1
[ "$(cat file)" = base ] && printf changed >file || exit 1
[ "$(cat "$2/base/file")" = base ] && [ "$(cat "$2/upper/file")" = changed ]
`

/** Can the service mount below `data`, and does a mount show and keep what it should? */
export const canOverlay = Effect.fnUntraced(function* (data: string) {
  if (process.platform !== "linux") return false
  const folder = yield* onDisk(async () => {
    await mkdir(join(data, "git"), { recursive: true, mode: 0o700 })
    const path = await mkdtemp(join(data, "git", ".probe-"))
    for (const name of ["base", "upper", "work", "tree"]) await mkdir(join(path, name))
    await writeFile(join(path, "base", "file"), "base")
    return path
  })
  const layers = ["lowerdir=base", "upperdir=upper", "workdir=work"]
  const code = yield* system("sh", ["-c", probe, "sh", [...options, ...layers].join(","), folder], folder)
  return code === 0
})

/** The run folders below `data`, a real path, that something is mounted in, whether they are complete or not. */
export const mountedRuns = (data: string): Effect.Effect<ReadonlyArray<string>, CheckoutFailed> =>
  onDisk(async () => {
    const table = await readFile("/proc/self/mountinfo", "utf8").catch(absent)
    const below = `${join(data, "git")}/`
    return (table ?? "")
      .split("\n")
      .map((line) =>
        (line.split(" ")[4] ?? "").replace(/\\([0-7]{3})/g, (_, octal: string) =>
          String.fromCharCode(Number.parseInt(octal, 8)),
        ),
      )
      .filter((path) => path.startsWith(below) && path.endsWith("/tree"))
      .map(dirname)
  })
