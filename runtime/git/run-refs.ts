/** Where the branch of a run stands, in the git directories of the service. Each change is one step. */
import { mkdir, readFile, rm } from "node:fs/promises"
import { dirname, join } from "node:path"
import { Effect } from "effect"
import type { CheckoutFailed } from "#core/ports/checkouts.ts"
import { failed, onDisk } from "#runtime/git/failed.ts"
import { absent, type RunFolder, writeWhole } from "#runtime/git/folders.ts"
import { branchOfRun, isCommitId } from "#runtime/git/names.ts"

const headFile = (gitDir: string, runId: string): string => join(gitDir, "refs/heads", branchOfRun(runId))
const pendingFile = (folder: RunFolder): string => join(folder.store, "refs/pending")

const readRef = (path: string): Effect.Effect<string | null, CheckoutFailed> =>
  onDisk(async () => {
    const text = (await readFile(path, "latin1").catch(absent))?.trim()
    return text !== undefined && isCommitId(text) ? text : null
  })

export const readHead = Effect.fnUntraced(function* (folder: RunFolder, runId: string) {
  const head = yield* readRef(headFile(folder.store, runId))
  return head ?? (yield* failed("unavailable", "The branch of the checkout cannot be read."))
})

/** In the service's git directory, and in the one that the agent's git reads. */
export const writeHead = (folder: RunFolder, runId: string, commit: string): Effect.Effect<void, CheckoutFailed> =>
  onDisk(async () => {
    for (const gitDir of [folder.store, folder.view]) {
      const file = headFile(gitDir, runId)
      await mkdir(dirname(file), { recursive: true })
      await writeWhole(file, `${commit}\n`)
    }
  })

/** The commit that is being published: it is written before, and removed after. */
export const readPending = (folder: RunFolder): Effect.Effect<string | null, CheckoutFailed> =>
  readRef(pendingFile(folder))

export const writePending = (folder: RunFolder, commit: string): Effect.Effect<void, CheckoutFailed> =>
  onDisk(() => writeWhole(pendingFile(folder), `${commit}\n`))

export const removePending = (folder: RunFolder): Effect.Effect<void, CheckoutFailed> =>
  onDisk(() => rm(pendingFile(folder), { force: true }))
