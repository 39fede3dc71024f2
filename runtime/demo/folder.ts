/** The folders of the demo: one for the service, which does not outlive it, beside the repository, which does. */
import { mkdir, mkdtemp, realpath, rm, rmdir } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Cause, Effect, Exit } from "effect"
import { DemoFailed, messageOf } from "#runtime/demo/failed.ts"

export interface Folders {
  readonly root: string
  /** Data and log of the service. */
  readonly service: string
}

/** Of a demo that failed, the service's log is left. `root`: an existing folder; absent: a new one. */
export const makeFolders = (root: string | undefined) =>
  Effect.acquireRelease(
    Effect.tryPromise({
      try: async (): Promise<Folders> => {
        const real = await realpath(root ?? (await mkdtemp(join(await realpath(tmpdir()), "svc-demo-"))))
        const service = join(real, "service")
        await mkdir(service, { mode: 0o700 })
        return { root: real, service }
      },
      catch: (cause) =>
        new DemoFailed({ message: `There is no folder to work in: ${messageOf(cause)}. --folder takes an empty one.` }),
    }),
    ({ root: real, service }, exit) =>
      Effect.promise(async () => {
        const failed = Exit.isFailure(exit) && !Cause.hasInterruptsOnly(exit.cause)
        const gone = failed ? ["data", "api-key"].map((name) => join(service, name)) : [service]
        for (const path of gone) await rm(path, { recursive: true, force: true, maxRetries: 3 })
        // what we made goes where nothing is left in it
        await rmdir(service).catch(() => undefined)
        if (root === undefined) await rmdir(real).catch(() => undefined)
      }),
  )
