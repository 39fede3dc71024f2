/**
 * The `plugins/` part of the data folder, and how its files are changed: a file is replaced as a whole or not at all, and one
 * process changes them at a time. Who only reads needs no lock.
 */
import { mkdir, open, readFile, rename, rm } from "node:fs/promises"
import { dirname, join } from "node:path"
import { Duration, Effect, Schedule } from "effect"
import { because, type PackageRefused, refuse } from "#runtime/plugin-host/packages/refused.ts"

export const pluginsFolder = (dataDirectory: string): string => join(dataDirectory, "plugins")
export const lockFilePath = (plugins: string): string => join(plugins, "plugins.lock.json")
export const trustFilePath = (plugins: string): string => join(plugins, "trusted-keys.json")
export const switchesFilePath = (plugins: string): string => join(plugins, "switches.json")
/** One folder per package, named by the digest of its manifest. */
export const storePath = (plugins: string): string => join(plugins, "store")
const changingPath = (plugins: string): string => join(plugins, ".changing")

/** How long one process waits for another. */
const longestWait = Duration.seconds(5)

/** Runs a change while no other process makes one. */
export const changing =
  (plugins: string) =>
  <A, E, R>(change: Effect.Effect<A, E, R>): Effect.Effect<A, E | PackageRefused, R> =>
    Effect.acquireUseRelease(
      take(plugins),
      () => change,
      (path) => Effect.promise(() => rm(path, { force: true })),
    )

const take = (plugins: string): Effect.Effect<string, PackageRefused> => {
  const path = changingPath(plugins)
  return Effect.tryPromise({
    try: async () => {
      await mkdir(plugins, { recursive: true, mode: 0o700 })
      const file = await open(path, "wx", 0o600)
      // whose it is, for people: without it (a disk that is full) the change is as exclusive
      await file.writeFile(`${process.pid}\n`).catch(() => undefined)
      await file.close().catch(() => undefined)
      return path
    },
    catch: (error) => ({ taken: codeOf(error) === "EEXIST", error }),
  }).pipe(
    Effect.retry({
      while: ({ taken }) => taken,
      schedule: Schedule.spaced("50 millis").pipe(Schedule.upTo({ duration: longestWait })),
    }),
    Effect.mapError(({ taken, error }) =>
      taken
        ? refuse(
            "state",
            `Another process is changing the plugins. Where none is, it was stopped in between: remove ${path}.`,
          )
        : because("state", `${plugins} cannot be written`)(error),
    ),
  )
}

/** The whole text, or none of it, also where the machine stops in between. */
export const replaceFile = (path: string, text: string): Effect.Effect<void, PackageRefused> =>
  Effect.tryPromise({
    try: async () => {
      const beside = `${path}.${process.pid}.${crypto.randomUUID()}`
      try {
        const file = await open(beside, "wx", 0o600)
        try {
          await file.writeFile(text)
          await file.sync()
        } finally {
          await file.close()
        }
        await rename(beside, path)
      } finally {
        await rm(beside, { force: true })
      }
      await syncFolder(dirname(path))
    },
    catch: because("state", `${path} cannot be written`),
  })

/** Undefined where there is no such file. */
export const readText = (path: string): Effect.Effect<string | undefined, PackageRefused> =>
  Effect.tryPromise({
    try: () =>
      readFile(path, "utf8").catch((error: unknown) => {
        if (codeOf(error) === "ENOENT") return undefined
        throw error
      }),
    catch: because("state", `${path} cannot be read`),
  })

/** Makes a rename last. Not every system can: then it lasts as long as that system lets it. */
export const syncFolder = async (path: string): Promise<void> => {
  const folder = await open(path, "r").catch(() => undefined)
  await folder?.sync().catch(() => undefined)
  await folder?.close()
}

const codeOf = (error: unknown): unknown => (error instanceof Error && "code" in error ? error.code : undefined)
