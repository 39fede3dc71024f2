/** `Checkouts` by the git program, on the disk of this machine, below the data folder. */
import { mkdir, realpath } from "node:fs/promises"
import { resolve } from "node:path"
import { Duration, Effect, Layer } from "effect"
import { type CheckoutFailed, Checkouts, cutLine, type Place } from "#core/ports/checkouts.ts"
import { Settings } from "#core/settings.ts"
import { commitWork } from "#runtime/git/commit.ts"
import { compareCommits } from "#runtime/git/compare.ts"
import { readContent, readTree } from "#runtime/git/content.ts"
import { changesBetween, diffBetween } from "#runtime/git/diff.ts"
import { onDisk } from "#runtime/git/failed.ts"
import type { Kind, RunFolder } from "#runtime/git/folders.ts"
import { checkPath, fileDiff, listFiles, type State, stateOf } from "#runtime/git/inspect.ts"
import { integrateCommits } from "#runtime/git/integrate.ts"
import { makeKeyedLock } from "#runtime/git/keyed-lock.ts"
import { mergeCommit } from "#runtime/git/merge.ts"
import { branchRef } from "#runtime/git/names.ts"
import { findOrigin, headOf } from "#runtime/git/origin.ts"
import { canOverlay, unmountIdle } from "#runtime/git/overlay.ts"
import { describeCheckout, makeCheckout, openCheckout } from "#runtime/git/prepare.ts"
import { clean, removeCheckout } from "#runtime/git/remove.ts"

const makeCheckouts = (overlays: (data: string) => Effect.Effect<boolean, CheckoutFailed>) =>
  Effect.gen(function* () {
    const settings = yield* Settings
    const staleAfter = Duration.seconds(settings.Coordinator.StaleLockThresholdSeconds)
    const lock = makeKeyedLock()
    const mounted = new Map<string, RunFolder>()
    yield* Effect.addFinalizer(() => unmountIdle([...mounted.values()]))

    const data = yield* Effect.cached(
      onDisk(async () => {
        const folder = resolve(settings.Data.Directory)
        await mkdir(folder, { recursive: true, mode: 0o700 })
        return realpath(folder)
      }),
    )
    const kind = yield* Effect.cached(
      Effect.flatMap(data, overlays).pipe(Effect.map((can): Kind => (can ? "overlay" : "shared-clone"))),
    )
    yield* Effect.flatMap(data, clean).pipe(
      Effect.catch(({ message }) => Effect.logWarning(`What earlier services left was not removed: ${message}`)),
      Effect.forkScoped,
    )

    const mounting = (folder: RunFolder): void => void mounted.set(folder.path, folder)
    const lockRun = ({ runId, repository }: Place) => lock(`run\0${repository}\0${runId}`)
    const open = Effect.fnUntraced(function* (place: Place) {
      return yield* lockRun(place)(openCheckout(yield* data, place, mounting))
    })
    const onState = <A>(place: Place, use: (state: State) => Effect.Effect<A, CheckoutFailed>) =>
      Effect.flatMap(open(place), stateOf).pipe(Effect.flatMap(use))

    return {
      prepare: Effect.fn("Checkouts.prepare")(function* (spec) {
        const made = makeCheckout(yield* data, spec, yield* kind, lock(`base\0${spec.repository}`), mounting)
        return yield* describeCheckout(yield* lockRun(spec)(made))
      }),
      open: (place) => Effect.flatMap(open(place), describeCheckout),
      commit: Effect.fn("Checkouts.commit")(function* (checkout, message, author) {
        const opened = yield* open(checkout)
        return yield* lockRun(checkout)(Effect.scoped(commitWork(opened, message, author)))
      }),
      snapshot: (checkout) =>
        onState(checkout, ({ head, work, baseTree }) =>
          Effect.succeed({ commit: head, treeHash: work, hasChanges: work !== baseTree }),
        ),
      diff: (checkout, maxBytes) =>
        onState(checkout, ({ opened, work, baseTree }) =>
          Effect.map(diffBetween(opened.folder.store, baseTree, work, maxBytes), ({ text, truncated }) =>
            truncated ? `${text}${cutLine(maxBytes)}` : text,
          ),
        ),
      files: (checkout, filter) => Effect.flatMap(open(checkout), (opened) => listFiles(opened, filter)),
      fileDiff: (checkout, path) =>
        Effect.andThen(
          checkPath(path),
          onState(checkout, (state) => fileDiff(state, path)),
        ),
      fileContent: (checkout, path) =>
        Effect.andThen(
          checkPath(path),
          onState(checkout, ({ opened, work }) => readContent(opened.folder.store, work, path)),
        ),
      tree: (checkout) =>
        onState(checkout, ({ opened, work, baseTree }) =>
          Effect.flatMap(changesBetween(opened.folder.store, baseTree, work), (changes) =>
            readTree(opened.folder.store, work, changes),
          ),
        ),
      integrate: Effect.fn("Checkouts.integrate")(function* (spec) {
        return yield* Effect.scoped(integrateCommits(yield* data, spec))
      }),
      merge: Effect.fn("Checkouts.merge")(function* (spec) {
        const merge = Effect.scoped(mergeCommit(yield* data, spec, staleAfter))
        return yield* lock(`merge\0${spec.repository}`)(merge)
      }),
      compare: (spec) => compareCommits(data, spec),
      remove: Effect.fn("Checkouts.remove")(function* (place, options) {
        mounted.delete(yield* lockRun(place)(removeCheckout(yield* data, place, options)))
      }),
      branchHead: Effect.fn("Checkouts.branchHead")(function* (repository, branch) {
        const ref = yield* branchRef(branch)
        return yield* headOf(yield* findOrigin(repository), ref)
      }),
    } satisfies Checkouts["Service"]
  })

/**
 * Needs to be closed: mounts that nobody uses are taken away then, and made again by `open`. `overlays` says
 * for a data folder whether new checkouts are mounted.
 */
export const checkoutsLayerWhere = (
  overlays: (data: string) => Effect.Effect<boolean, CheckoutFailed>,
): Layer.Layer<Checkouts, never, Settings> => Layer.effect(Checkouts, makeCheckouts(overlays))

/** With overlays where this machine lets the service mount them. */
export const checkoutsLayer = checkoutsLayerWhere(canOverlay)
