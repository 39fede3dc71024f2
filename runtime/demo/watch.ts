/** Follows a coordinator's run and those of its agents, and keeps what is known of them as one story. */
import { Effect, FiberSet } from "effect"
import type { Client } from "#runtime/demo/client.ts"
import type { DemoFailed } from "#runtime/demo/failed.ts"
import { evolveChild } from "#runtime/demo/view/child.ts"
import type { Screen } from "#runtime/demo/view/screen.ts"
import { beginning, evolve, type Story, textIn } from "#runtime/demo/view/story.ts"
import { tellingOf, tellingOfChild } from "#runtime/demo/view/telling.ts"

export interface Watch {
  readonly story: () => Story
  /** Waits until that holds; fails where the events can no longer be followed. */
  readonly until: (enough: (story: Story) => boolean) => Effect.Effect<Story, DemoFailed>
  /** The runs of agents that there were. */
  readonly children: () => ReadonlyArray<string>
}

export const watch = Effect.fnUntraced(function* (client: Client, runId: string, screen: Screen) {
  const followers = yield* FiberSet.make<void, DemoFailed>()
  const fork = yield* FiberSet.runtime(followers)<never>()
  const children = new Set<string>()
  const waiting = new Set<() => void>()
  let story = beginning
  const know = (next: Story): void => {
    story = next
    for (const look of waiting) look()
  }
  const followChild = (childRunId: string): void => {
    if (childRunId === "" || children.has(childRunId)) return
    children.add(childRunId)
    const follow = client.follow(childRunId, (event) => {
      for (const told of tellingOfChild(story, childRunId, event)) screen.tell(told)
      know(evolveChild(story, childRunId, event))
    })
    // what is missed of an agent at work is missed on the screen only
    fork(Effect.ignore(follow))
  }
  fork(
    client.follow(runId, (event) => {
      const next = evolve(story, event)
      for (const told of tellingOf(next, event)) screen.tell(told)
      followChild(textIn(event, "childRunId"))
      know(next)
    }),
  )
  const until = (enough: (story: Story) => boolean) =>
    Effect.callback<Story>((resume) => {
      const look = (): void => {
        if (!enough(story)) return
        waiting.delete(look)
        resume(Effect.succeed(story))
      }
      waiting.add(look)
      look()
      return Effect.sync(() => void waiting.delete(look))
    })
  return {
    story: () => story,
    children: () => [...children],
    until: (enough) => Effect.raceFirst(until(enough), Effect.andThen(FiberSet.join(followers), Effect.never)),
  } satisfies Watch
})
