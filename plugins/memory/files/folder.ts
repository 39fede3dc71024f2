/** The working directory of a project, for as long as files of it are written or read. */
import { Duration, Effect } from "effect"
import { type Refusal, refuse } from "#core/refusal.ts"
import { type Contained, FileRefused, makeContained } from "#plugins/memory/files/contained.ts"

/** A disk that does not answer must not keep a request for ever. */
const patience = Duration.seconds(15)

export const inFolder = <A>(
  workingDirectory: string,
  use: (folder: Contained) => Promise<A>,
): Effect.Effect<A, Refusal> =>
  Effect.tryPromise({
    try: async () => use(await makeContained(workingDirectory)),
    catch: (error) =>
      error instanceof FileRefused
        ? refuse("conflict", { message: error.message })
        : refuse("workspace_unavailable", { message: "The files of the project cannot be read or written." }),
  }).pipe(Effect.timeoutOrElse({ duration: patience, orElse: () => refuse("workspace_unavailable") }))
