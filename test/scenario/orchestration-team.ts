/** A team for tests of orchestrations: a model on the wire that plays everybody, each by a line of script. */
import { Effect } from "effect"
import { makeOrchestra, type Orchestra, type Playing, resultsSince } from "#test/support/orchestra.ts"

/** A call of a tool: its name and its arguments. */
export type Move = readonly [name: string, args: unknown]

/** What an agent was told, when it is about to begin. */
export interface Telling {
  /** The whole conversation so far, as JSON. */
  readonly text: string
  /** How often somebody has told this agent something: more than once where it goes on in place. */
  readonly tellings: number
}

export interface Part {
  readonly title: string
  readonly role?: string
  /** Places in the plan, from 1. */
  readonly dependsOn?: ReadonlyArray<number>
  /** What its agent does, whoever it is, one call after the other. */
  readonly does: (told: Telling) => ReadonlyArray<Move>
}

export interface Script {
  readonly parts: ReadonlyArray<Part>
  /** What the reviewer of the whole says of a change; nobody has anything to say of a single part. */
  readonly rai?: (change: string) => string
  /** What the drafter of the outcome makes of what it is asked. */
  readonly outcome?: (asked: string) => string
}

const systemOf = (request: Parameters<Playing>[0]): string => String(request.body.messages?.[0]?.content ?? "")

const planned = ({ title, role = "backend-engineer", dependsOn = [] }: Part) => ({
  title,
  scope: "",
  role,
  complexity: "low",
  phase: "execution",
  isolation: "worktree",
  depends_on: dependsOn,
})

export const write = (path: string, content: string): Move => ["write_file", { path, content }]
export const run = (command: string): Move => ["run_command", { command }]

/** Plays a script. Titles of parts must not contain each other. */
export const play =
  ({ parts, rai = () => "VERDICT: GREEN", outcome = (asked) => asked }: Script): Playing =>
  (request) => {
    const messages: ReadonlyArray<{ readonly role: string; readonly content: unknown }> = request.body.messages
    const text = JSON.stringify(messages.slice(1))
    if (systemOf(request).includes("responsible-AI reviewer")) {
      return { text: systemOf(request).includes("several agents") ? rai(text) : "VERDICT: GREEN" }
    }
    if (systemOf(request).includes("desired_outcome")) {
      return { text: JSON.stringify({ desired_outcome: outcome(text), scope: "all of it", assumptions: "none" }) }
    }
    if ((request.body.tools ?? []).length === 0) return { text: JSON.stringify(parts.map(planned)) }
    const told = messages.filter(({ role }) => role === "user")
    const part = parts.find(({ title }) => JSON.stringify(told).includes(title))
    const move = part?.does({ text: JSON.stringify(told), tellings: told.length })[resultsSince(request)]
    return move === undefined
      ? { text: "Done." }
      : { text: "Let me see. ", calls: [{ name: move[0], arguments: move[1] }], finishReason: "tool_calls" }
  }

/** Will nothing come any more without a person? */
const stuck = (types: ReadonlyArray<string>): boolean =>
  types.some((type) => ["done", "run.failed", "coordinator.assembly_failed"].includes(type)) ||
  types.lastIndexOf("coordinator.assembly_blocked") > types.lastIndexOf("coordinator.recovered")

export interface Event {
  readonly type: string
  readonly sequence: number
  // biome-ignore lint/suspicious/noExplicitAny: tests look into payloads of every shape
  readonly payload: any
}

/** An orchestration under way, and what tests ask of it. */
export const orchestrate = (world: Orchestra, runId: string) => {
  const on = (method: string, rest: string, body?: unknown) => world.call(method, `/api/runs/${runId}${rest}`, body)
  const events = (type?: string): Effect.Effect<ReadonlyArray<Event>> =>
    Effect.map(on("GET", `/events${type === undefined ? "" : `?type=${type}`}`), ({ body }) => body)
  /** Waits for the `count`th event of a type, and gives it. */
  const nth = (type: string, count = 1): Effect.Effect<Event> =>
    Effect.scoped(
      Effect.gen(function* () {
        const stream = yield* world.watch(runId)
        yield* Effect.promise(() =>
          stream.until((frames) => {
            const types = frames.map(({ event = "" }) => event)
            return types.filter((each) => each === type).length >= count || stuck(types)
          }),
        )
        const found = (yield* events(type))[count - 1]
        if (found === undefined) throw new Error(`no ${type}: ${JSON.stringify((yield* events()).slice(-5), null, 1)}`)
        return found
      }),
    )
  return {
    ...world,
    runId,
    on,
    events,
    nth,
    plan: Effect.map(on("GET", "/work-plan"), ({ body }) => body),
    children: Effect.map(on("GET", "/children"), ({ body }) => body),
    steer: (body: unknown) => on("POST", "/steer", body),
    review: (body: unknown) => on("POST", "/assembly/review", body),
    /** A person reads it and lets it go: gives the types of all events. */
    merge: Effect.gen(function* () {
      const reviewed = yield* on("POST", "/assembly/review", { approved: true })
      if (reviewed.status !== 200) throw new Error(`not approved: ${JSON.stringify(reviewed)}`)
      return yield* world.until(runId, "merge.completed", "merge.failed", "run.failed")
    }),
  }
}

/** Starts an orchestration of this script on a service and a repository of its own. */
export const orchestration = Effect.fnUntraced(function* (
  script: Script,
  { start = {}, ...options }: Parameters<typeof makeOrchestra>[1] & { readonly start?: object } = {},
) {
  const world = yield* makeOrchestra(play(script), options)
  const path = `/api/projects/${world.projectId}/orchestrations`
  const started = yield* world.call("POST", path, { goal: "Write it all", ...start })
  if (started.status !== 201) throw new Error(`not started: ${JSON.stringify(started)}`)
  return orchestrate(world, started.body.runId)
})
