/** A disk with the given folders: `Repository` without a disk or git. */
import { Effect, Layer } from "effect"
import { type Inspection, Repository } from "#core/ports/repository.ts"

/** By path. A folder that is no repository has `isRepository: false`. */
export type Folders = Map<string, Partial<Inspection>>

export const layerFakeRepository = (folders: Folders): Layer.Layer<Repository> =>
  Layer.succeed(Repository, {
    inspect: (path) =>
      Effect.sync(() => {
        const folder = folders.get(path)
        return folder === undefined
          ? { realPath: null, isRepository: false, defaultBranch: null }
          : { realPath: path, isRepository: true, defaultBranch: "main", ...folder }
      }),
    isFolder: (path) => Effect.sync(() => folders.has(path)),
    realPath: (path) => Effect.sync(() => folders.get(path)?.realPath ?? path),
  })
