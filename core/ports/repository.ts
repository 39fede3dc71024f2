/** What the core needs to know of a repository on this machine's disk. Nothing here changes one. */
import { Context, type Effect } from "effect"

export interface Inspection {
  /** The path after every link is followed; null where there is no such folder. */
  readonly realPath: string | null
  /** True for the top folder of a working tree, and only for that. */
  readonly isRepository: boolean
  /** The branch that is checked out; null where none is. */
  readonly defaultBranch: string | null
}

export class Repository extends Context.Service<
  Repository,
  {
    readonly inspect: (path: string) => Effect.Effect<Inspection>
    /** Is there a folder? False too where the disk does not answer in time. */
    readonly isFolder: (path: string) => Effect.Effect<boolean>
    /** The path after every link is followed; the path itself where it does not exist. */
    readonly realPath: (path: string) => Effect.Effect<string>
  }
>()("core/Repository") {}
