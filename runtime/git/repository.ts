/** `Repository` on the disk of this machine, by the git program and the file system. */
import { realpath, stat } from "node:fs/promises"
import { Duration, Effect, Layer } from "effect"
import { Repository } from "#core/ports/repository.ts"
import { git } from "#runtime/git/program.ts"

/** A folder on a disk that is gone (a lost mount) may never answer. */
const diskPatience = Duration.seconds(2)

const absent = { realPath: null, isRepository: false, defaultBranch: null }

const fromDisk = <A>(ask: () => Promise<A>, otherwise: A): Effect.Effect<A> =>
  Effect.tryPromise(ask).pipe(
    Effect.orElseSucceed(() => otherwise),
    Effect.timeoutOrElse({ duration: diskPatience, orElse: () => Effect.succeed(otherwise) }),
  )

const isFolder = (path: string): Effect.Effect<boolean> => fromDisk(async () => (await stat(path)).isDirectory(), false)

const inspect = Effect.fn("Repository.inspect")(function* (path: string) {
  const realPath = yield* fromDisk(() => realpath(path), null)
  if (realPath === null || !(yield* isFolder(realPath))) return absent
  const place = yield* git(realPath, ["rev-parse", "--is-inside-work-tree", "--show-prefix"])
  // the prefix of the top folder is empty
  const isRepository = place.code === 0 && place.stdout === "true\n\n"
  if (!isRepository) return { realPath, isRepository, defaultBranch: null }
  const head = yield* git(realPath, ["symbolic-ref", "--short", "HEAD"])
  return { realPath, isRepository, defaultBranch: head.code === 0 ? head.stdout.trim() : null }
})

export const repositoryLayer = Layer.succeed(Repository, {
  inspect,
  isFolder,
  realPath: (path) => fromDisk(() => realpath(path), path),
})
