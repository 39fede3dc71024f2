/** The folders that a policy lets commands read beside the checkout, as they really are on this machine. */
import { realpath, stat } from "node:fs/promises"
import { isAbsolute, join, sep } from "node:path"
import { Effect } from "effect"
import type { SandboxPolicy } from "#core/sandbox-policy/policy.ts"

export interface PolicyRoots {
  /** Real paths of folders and files. */
  readonly paths: ReadonlyArray<string>
  /** As the policy writes them: they are not there, or not where a policy may point. */
  readonly left: ReadonlyArray<string>
}

/**
 * A relative root lies below the repository, with every link followed; an absolute one below a folder that whoever
 * runs the service allows for repositories. Everything else is left out.
 */
export const rootsOf = Effect.fn("rootsOf")(function* (
  policy: SandboxPolicy,
  repository: string,
  allowedFolders: ReadonlyArray<string>,
) {
  const top = yield* realPathOf(repository)
  const allowed = (yield* Effect.forEach(allowedFolders, realPathOf)).flatMap((folder) => folder ?? [])
  const found = yield* Effect.forEach(policy.allowedRepositoryRoots, (root) =>
    Effect.gen(function* () {
      const real = top === undefined ? undefined : yield* realPathOf(isAbsolute(root) ? root : join(top, root))
      const places = isAbsolute(root) ? allowed : top === undefined ? [] : [top]
      const inside = real !== undefined && places.some((place) => isBelow(real, place))
      return { root, real: inside ? real : undefined }
    }),
  )
  const roots: PolicyRoots = {
    paths: [...new Set(found.flatMap(({ real }) => real ?? []))],
    left: found.filter(({ real }) => real === undefined).map(({ root }) => root),
  }
  return roots
})

const isBelow = (path: string, folder: string): boolean =>
  path === folder || path.startsWith(folder.endsWith(sep) ? folder : folder + sep)

/** Undefined where there is neither a folder nor a file. */
const realPathOf = (path: string): Effect.Effect<string | undefined> =>
  Effect.tryPromise(async () => {
    const real = await realpath(path)
    const found = await stat(real)
    return found.isDirectory() || found.isFile() ? real : undefined
  }).pipe(Effect.orElseSucceed(() => undefined))
