/** A run that was recorded is replayed without its model: the same tree, the same events, and a difference is told. */
import { readFile } from "node:fs/promises"
import { join } from "node:path"
import { expect, layer } from "@effect/vitest"
import { Effect } from "effect"
import { TestDatabase } from "#test/support/database.ts"
import { agentThat, makeOrchestra } from "#test/support/orchestra.ts"
import { temporaryFolder } from "#test/support/temporary-folder.ts"

const greeting = agentThat([
  ["report_intent", { intent: "Write the greeting" }],
  ["write_file", { path: "src/hello.txt", content: "Hello\n" }],
  ["run_command", { command: 'echo "$(pwd) $(wc -c < src/hello.txt)"' }],
  ["read_file", { path: "src/none.txt" }],
  ["report_outcome", { achieved: true, reason: "The greeting is there." }],
])

/** A fresh project on a service of its own, which is gone when `use` is done: no other replica takes its runs. */
const play = <A>(
  tape: { readonly Mode: "record" | "replay"; readonly Path: string },
  work: (orchestra: Effect.Success<ReturnType<typeof makeOrchestra>>) => Effect.Effect<A>,
) => Effect.scoped(Effect.flatMap(makeOrchestra(greeting, { settings: { Providers: { Tape: tape } } }), work))

interface Told {
  readonly type: string
  readonly payload: unknown
}

/** What a run made and told, with ids, times and places by names. */
const toReview = Effect.fnUntraced(function* (
  { call, start, until, settings, repository, requests }: Effect.Success<ReturnType<typeof makeOrchestra>>,
  source: "hosted" | "tape",
  task = "Write a greeting and count it",
) {
  const runId = yield* start(task, { model_source: source, agent_name: "Builder" })
  yield* until(runId, "review.requested", "run.failed")
  const { body: events } = yield* call("GET", `/api/runs/${runId}/events?limit=1000`)
  const { body: run } = yield* call("GET", `/api/runs/${runId}`)
  const named = normalise({ [settings.Data?.Directory ?? ""]: "data", [repository.path]: "repository" })
  return {
    run,
    events: (events as ReadonlyArray<Told>).map(({ type, payload }) => ({ type, payload: named(payload) })),
    tree: run.worktree_branch === null ? null : repository.git("rev-parse", `${run.worktree_branch}^{tree}`),
    asked: requests.length,
  }
})

/** Also the folder of a repository below the data folder. */
const id = /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|(?<=\/git\/)[0-9a-f]{32}/g
const time = /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z/g

/** How long something took, digests of inputs (they hold ids), and which source of models it was. */
const different = /_ms$|Ms$|^(?:input_hash|model|provider)$/

/** Ids are numbered as they come; members that differ say only that they are there. */
const normalise = (places: Readonly<Record<string, string>>) => {
  const ids = new Map<string, string>()
  const numbered = (found: string): string => {
    const name = ids.get(found) ?? `id:${ids.size + 1}`
    ids.set(found, name)
    return name
  }
  const text = (value: string): string =>
    Object.entries(places)
      .reduce((before, [place, name]) => before.replaceAll(place, `<${name}>`), value)
      .replace(id, numbered)
      .replace(time, "<time>")
  return (payload: unknown): unknown =>
    JSON.parse(JSON.stringify(payload), (key, value: unknown) => {
      if (different.test(key)) return `<${key}>`
      return typeof value === "string" ? text(value) : value
    })
}

layer(TestDatabase.layer, { excludeTestServices: true, timeout: "60 seconds" })("a recorded run", (it) => {
  it.effect("is the same when it is replayed, and a changed prompt is told", () =>
    Effect.gen(function* () {
      const path = join(yield* Effect.promise(temporaryFolder), "run.jsonl")
      const recorded = yield* play({ Mode: "record", Path: path }, (orchestra) => toReview(orchestra, "hosted"))
      expect(recorded.run.status).toBe("awaiting_review")
      expect(recorded.asked).toBe(7)
      expect(yield* Effect.promise(() => readFile(path, "utf8"))).not.toContain("sk-of-the-test")

      const replayed = yield* play({ Mode: "replay", Path: path }, (orchestra) => toReview(orchestra, "tape"))
      expect(replayed.asked).toBe(0)
      expect(replayed.events).toEqual(recorded.events)
      expect(replayed.tree).toBe(recorded.tree)
      expect(replayed.run).toMatchObject({ status: "awaiting_review", model_source: "tape", step_count: 6 })
      expect(replayed.run.diff).toBe(recorded.run.diff)

      const diverged = yield* play({ Mode: "replay", Path: path }, (orchestra) =>
        toReview(orchestra, "tape", "Write a greeting and count them"),
      )
      expect(diverged.asked).toBe(0)
      expect(diverged.run.status).toBe("failed")
      const failure = diverged.events.find(({ type }) => type === "run.failed")
      expect(failure?.payload).toMatchObject({ errorCode: "Diverged", retryable: false })
      expect(failure?.payload).toHaveProperty(
        "message",
        'The request of Builder, turn, step 0 is not the recorded one. messages[0].text: expected "Write a greeting and count it", got "Write a greeting and count them".',
      )
    }),
  )
})
