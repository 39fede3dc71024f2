/** Where the demo shows itself: a tree that is drawn again and again on a terminal, plain lines anywhere else. */
import { styleText } from "node:util"
import { Clock, Duration, Effect } from "effect"
import { createLogUpdate } from "log-update"
import type { Story } from "#runtime/demo/view/story.ts"
import type { Told } from "#runtime/demo/view/telling.ts"
import { frame, noColours, type Paint, treeOf } from "#runtime/demo/view/tree.ts"

export interface Screen {
  readonly paint: Paint
  readonly tell: (told: Told) => void
  readonly say: (line: string) => void
  /** Draws the story, as it is at each moment, while `effect` runs. */
  readonly whileDrawing: <A, E, R>(story: () => Story, effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>
}

/** Nobody watches a pipe, a build server, or a terminal without any lines. */
const isWatched = (stream: NodeJS.WriteStream): boolean =>
  stream.isTTY === true && stream.rows > 0 && process.env.CI === undefined

const colours: Paint = (colour, text) => styleText(colour, text, { stream: process.stdout })

export const makeScreen = Effect.gen(function* () {
  const started = yield* Clock.currentTimeMillis
  const stream = process.stdout
  const say = (line: string): void => void stream.write(`${line}\n`)
  if (!isWatched(stream)) {
    return {
      paint: noColours,
      say,
      tell: ({ text }) => say(text),
      whileDrawing: (_, effect) => effect,
    } satisfies Screen
  }
  const live = createLogUpdate(stream)
  let drawing = false
  const draw = (story: Story) =>
    Effect.map(Clock.currentTimeMillis, (now) => {
      const width = stream.columns ?? 80
      live(treeOf(story, { elapsedMillis: now - started, width, paint: colours }).join("\n"))
    })
  const sayAbove = (line: string): void => (drawing ? live.persist(line) : say(line))
  return {
    paint: colours,
    say: sayAbove,
    tell: ({ text, inTree }) => {
      if (!inTree) sayAbove(text)
    },
    whileDrawing: (story, effect) => {
      const drawn = Effect.suspend(() => draw(story()))
      const begin = Effect.sync(() => {
        drawing = true
      })
      const end = Effect.sync(() => {
        drawing = false
        live.done()
      })
      return begin.pipe(
        Effect.andThen(Effect.raceFirst(effect, Effect.forever(Effect.delay(drawn, Duration.millis(frame))))),
        Effect.ensuring(Effect.andThen(drawn, end)),
      )
    },
  } satisfies Screen
})
