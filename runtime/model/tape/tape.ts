/** The tape of the settings: a recorder, a player, or neither. */
import { realpath } from "node:fs/promises"
import { resolve } from "node:path"
import { Effect } from "effect"
import type { SettingsValues } from "#core/settings.ts"
import type { ModelFailed } from "#core/wire/model.ts"
import { makePlayer, type Player, readTape } from "#runtime/model/tape/player.ts"
import { makeRecorder, type RecordExchange } from "#runtime/model/tape/recorder.ts"
import { version } from "#runtime/version.ts"

export interface Tape {
  readonly record: RecordExchange | undefined
  /** Undefined where nothing is replayed; the failure says why a tape cannot be. */
  readonly player: Effect.Effect<Player, ModelFailed> | undefined
}

export const makeTape = Effect.fnUntraced(function* ({ Data: { Directory }, Providers }: SettingsValues) {
  const { Mode, Path, Names = {} } = Providers.Tape
  if (Mode === "off" || Path === undefined) return { record: undefined, player: undefined } satisfies Tape
  const path = resolve(Path)
  // checkouts lie in the data folder; git and the agent see the path without links
  const real = yield* Effect.promise(() => realpath(Directory).catch(() => Directory))
  const names = { ...(real === Directory ? {} : { "data-link": Directory }), data: real, ...Names }
  if (Mode === "record")
    return { record: makeRecorder({ path, madeBy: `svc ${version}`, names }), player: undefined } satisfies Tape
  // read now: what is wrong with it is known before the first run
  const read = yield* Effect.result(readTape(path))
  const player = Effect.map(Effect.fromResult(read), (tape) => makePlayer(tape, names))
  return { record: undefined, player: yield* Effect.cached(player) } satisfies Tape
})
