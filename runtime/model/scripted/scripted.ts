/** The source `scripted`: answers from the script that the settings name. It is no model, and says so. */
import { readFile } from "node:fs/promises"
import { resolve } from "node:path"
import { Duration, Effect, Result, Stream } from "effect"
import type { ModelLimits, ModelPart, ModelRequest } from "#core/wire/model.ts"
import { ModelFailed } from "#core/wire/model.ts"
import { play } from "#runtime/model/scripted/play.ts"
import { readScript, type Script } from "#runtime/model/scripted/script.ts"

/** So many that nothing is ever summed up: a script does not know what was left out. */
export const scriptedLimits: ModelLimits = { contextTokens: 10_000_000, outputTokens: 1_000_000 }

export interface Scripted {
  readonly stream: (request: ModelRequest) => Stream.Stream<ModelPart, ModelFailed>
  /** Fails with all that is wrong with the script. */
  readonly check: Effect.Effect<void, ModelFailed>
}

/** The script is read when it is first needed, and again while there is something wrong with it. */
export const makeScripted = (path: string | undefined): Scripted => {
  let known: Script | undefined
  const script = Effect.suspend(() =>
    known === undefined
      ? Effect.tap(load(path), (loaded) => Effect.sync(() => (known = loaded)))
      : Effect.succeed(known),
  )
  return {
    check: Effect.asVoid(script),
    stream: (request) =>
      Stream.unwrap(
        Effect.gen(function* () {
          const loaded = yield* script
          const parts = yield* Effect.fromResult(play(loaded, request))
          const stream = Stream.fromIterable(parts, { chunkSize: 1 })
          return loaded.pause === 0 ? stream : Stream.tap(stream, () => Effect.sleep(Duration.millis(loaded.pause)))
        }),
      ),
  }
}

const failed = (message: string) => new ModelFailed({ kind: "Configuration", retryable: false, message })

const load = Effect.fnUntraced(function* (path: string | undefined) {
  if (path === undefined) return yield* failed("There is no script: Providers:Scripted:Path is not set.")
  const file = resolve(path)
  const text = yield* Effect.tryPromise({
    try: () => readFile(file, "utf8"),
    catch: () => failed(`The script ${file} cannot be read.`),
  })
  return yield* Effect.fromResult(
    Result.mapError(readScript(text), (problems) =>
      failed(`The script ${file} is wrong. ${problems.slice(0, 5).join("; ")}`),
    ),
  )
})
