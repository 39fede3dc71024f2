/**
 * Keeps a running host as the plugins folder says: what is installed, upgraded, granted, revoked, switched or removed there takes
 * effect without a restart, by whichever process it was done. Replicas that share the folder agree within `pollEvery`.
 *
 * It looks at the state, not at what changed: a look that was missed is made up for by the next. Where a file cannot be
 * understood, what runs goes on, and the problem is told.
 */
import { watch } from "node:fs"
import { mkdir } from "node:fs/promises"
import { Clock, Duration, Effect, Queue, Semaphore } from "effect"
import type { PluginHostShape } from "#runtime/plugin-host/host.ts"
import { type InstalledCandidate, installedCandidates } from "#runtime/plugin-host/packages/candidates.ts"
import type { Home } from "#runtime/plugin-host/packages/home.ts"
import {
  lockFilePath,
  readText,
  switchesFilePath,
  trustFilePath,
} from "#runtime/plugin-host/packages/plugins-folder.ts"
import { type PackageRefused, refuse } from "#runtime/plugin-host/packages/refused.ts"
import { readSwitches, type Switches } from "#runtime/plugin-host/packages/switches-file.ts"

/** Where the system does not tell of a change, as with most network file systems, it is found this often. */
const pollEvery = Duration.seconds(1)

/** A policy that may not run is looked at again this often: its package may only have been out of reach. */
const retryEvery = Duration.seconds(10)

/** What the host was made with. */
export interface Known {
  readonly installed: ReadonlyArray<InstalledCandidate>
  readonly switches: Switches
}

export interface Follower {
  /** Looks now. Ends when all that is to be seen has taken effect. */
  readonly look: Effect.Effect<void>
  /** Looks whenever something changes. Never ends. */
  readonly run: Effect.Effect<never>
  /** Why the folder could not be followed when it was last looked at; undefined where it could. */
  readonly problem: () => string | undefined
}

/** `forget`: what is to be done beside, where a plugin was uninstalled. */
export const makeFollower = Effect.fnUntraced(function* (
  host: PluginHostShape,
  home: Home,
  known: Known,
  forget: (plugin: string) => Effect.Effect<void>,
) {
  const { plugins } = home
  const marks = new Map(known.installed.map(({ plugin, mark }) => [plugin.name, mark]))
  const one = yield* Semaphore.make(1)
  let { switches } = known
  let seen: string | undefined
  /** When to look again although nothing has changed: milliseconds since 1970. */
  let retryAt = Number.POSITIVE_INFINITY
  let problem: string | undefined

  const install = Effect.fnUntraced(function* (candidate: InstalledCandidate) {
    const { plugin, source } = candidate
    // also where it cannot take over: it is not tried again until something changes
    marks.set(plugin.name, candidate.mark)
    const about = {
      plugin: plugin.name,
      version: plugin.version,
      digest: source.kind === "wasm" ? source.digest : null,
    }
    yield* host.install(candidate).pipe(
      Effect.andThen(({ state }) => Effect.logInfo("A plugin was changed", { ...about, state })),
      Effect.catch(({ message }) => Effect.logError("A change of a plugin did not take effect", { ...about, message })),
    )
  })

  const remove = Effect.fnUntraced(function* (name: string) {
    yield* host.uninstall(name).pipe(
      Effect.andThen(Effect.sync(() => marks.delete(name))),
      Effect.andThen(forget(name)),
      Effect.andThen(Effect.logInfo("A plugin was uninstalled", { plugin: name })),
      Effect.catch(({ message }) => Effect.logError("A plugin cannot be uninstalled", { plugin: name, message })),
    )
  })

  const flip = (name: string, on: boolean) =>
    (on ? host.enable(name) : host.disable(name)).pipe(
      Effect.catch(({ message }) => Effect.logError("A plugin cannot be switched", { plugin: name, on, message })),
    )

  const apply = Effect.gen(function* () {
    const installed = yield* installedCandidates(home)
    const troubled = installed.some((candidate) => candidate.problem !== undefined)
    retryAt = troubled ? (yield* Clock.currentTimeMillis) + Duration.toMillis(retryEvery) : Number.POSITIVE_INFINITY
    const switched = yield* readSwitches(plugins)
    const names = new Set(installed.map(({ plugin }) => plugin.name))
    for (const name of [...marks.keys()]) if (!names.has(name)) yield* remove(name)
    for (const candidate of installed) {
      if (marks.get(candidate.plugin.name) !== candidate.mark) yield* install(candidate)
    }
    const before = switches
    switches = switched
    for (const [name, on] of switched) if (before.get(name) !== on) yield* flip(name, on)
  }).pipe(Effect.withSpan("Plugins.follow"))

  const failed = ({ message }: PackageRefused) =>
    Effect.suspend(() => {
      if (problem === message) return Effect.void
      problem = message
      return Effect.logError("The plugins folder cannot be followed: what runs goes on", { message })
    })

  const look = Effect.gen(function* () {
    // unknown until this look has ended well: then the next one begins anew
    const before = seen
    seen = undefined
    const lock = yield* readText(lockFilePath(plugins))
    const others = yield* Effect.forEach([trustFilePath(plugins), switchesFilePath(plugins)], readText)
    const now = JSON.stringify([lock, ...others])
    if (now === before && (yield* Clock.currentTimeMillis) < retryAt) {
      seen = now
      return
    }
    // uninstalling leaves a file without plugins: one that is gone, or cannot be reached, must not open what it guards
    if (lock === undefined && marks.size > 0) {
      return yield* refuse("state", `${lockFilePath(plugins)} is gone. Put it back.`)
    }
    seen = now
    yield* apply
    problem = undefined
  }).pipe(Effect.catch(failed), one.withPermits(1))

  return {
    look,
    run: Effect.scoped(
      Effect.gen(function* () {
        // a second change while one is looked at is one more look, not two
        const prompts = yield* Queue.sliding<void>(1)
        yield* promptedBy(plugins, () => Queue.offerUnsafe(prompts, undefined))
        return yield* look.pipe(Effect.andThen(Effect.timeoutOption(Queue.take(prompts), pollEvery)), Effect.forever)
      }),
    ),
    problem: () => problem,
  } satisfies Follower
})

/** Where the folder cannot be watched, or not any more, looking now and then is enough. */
const promptedBy = (folder: string, prompt: () => void) =>
  Effect.acquireRelease(
    Effect.tryPromise(async () => {
      await mkdir(folder, { recursive: true, mode: 0o700 })
      const watcher = watch(folder, { persistent: false }, prompt)
      watcher.on("error", () => watcher.close())
      return watcher
    }).pipe(Effect.option),
    (watcher) => Effect.sync(() => (watcher._tag === "Some" ? watcher.value.close() : undefined)),
  )
