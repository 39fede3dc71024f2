/**
 * A world for the turn engine: a model that answers from a script, a session and a log in memory that outlive the
 * worker, and a worker that dies wherever a test wants it to.
 */
import { Effect, Stream } from "effect"
import type { ModelFailed, ModelPart, ModelRequest } from "#core/wire/model.ts"
import {
  type CommandRefused,
  type CommandResult,
  type CommandRun,
  type SessionEntry,
  type ToolAnswer,
  type TurnEvent,
  TurnInterrupted,
  type TurnRequest,
  type TurnWorld,
} from "#core/wire/turn.ts"

/** What is stored: the same for every worker of a run. */
export interface Store {
  readonly events: Array<TurnEvent>
  readonly entries: Array<SessionEntry>
  /** Ids of the calls that had an effect of this world, each time they had it. */
  readonly effects: Array<string>
  /** What the model was sent. */
  readonly requests: Array<ModelRequest>
}

export const emptyStore = (): Store => ({ events: [], entries: [], effects: [], requests: [] })

/** Where a worker dies: at which of its operations on the world, counted from 0, and before or after its effect. */
export interface Death {
  readonly at: number
  readonly when: "before" | "after"
}

type Permit = Parameters<TurnWorld["permit"]>[0]

export interface WorldOptions {
  /** Parts of the answer to this request, or its failure. */
  readonly model: (request: ModelRequest) => ReadonlyArray<ModelPart> | ModelFailed
  /** What the agent is told when it is asked whether there is anything. */
  readonly told?: (store: Store) => ReadonlyArray<string>
  readonly permit?: (call: Permit) => Effect.Success<ReturnType<TurnWorld["permit"]>>
  readonly command?: (run: CommandRun) => Effect.Effect<CommandResult, CommandRefused | TurnInterrupted>
  readonly ask?: (question: string) => Effect.Success<ReturnType<TurnWorld["ask"]>>
  readonly fetch?: (url: string) => ToolAnswer
  readonly redact?: (text: string) => string
  readonly tools?: TurnWorld["tools"]
  readonly contextTokens?: number
  readonly death?: Death
}

export interface FakeWorld {
  readonly world: TurnWorld
  /** Operations that were asked for. */
  readonly operations: () => number
  readonly died: () => boolean
}

export const ranWell: CommandResult = {
  exitCode: 0,
  timedOut: false,
  outputTruncated: false,
  stdout: "fine",
  stderr: "",
}

export const makeWorld = (store: Store, options: WorldOptions): FakeWorld => {
  let operations = 0
  let dead = false
  const lost = new TurnInterrupted({ reason: "lease_lost", message: "this worker is dead" })

  /** The dead do nothing, and nobody hears the end of what they were at. */
  const alive = <A, E>(effect: Effect.Effect<A, E>): Effect.Effect<A, E | TurnInterrupted> =>
    Effect.suspend(() => {
      const death = options.death?.at === operations ? options.death.when : undefined
      operations += 1
      if (dead || death === "before") {
        dead = true
        return Effect.fail(lost)
      }
      return Effect.flatMap(effect, (value) => {
        dead = dead || death === "after"
        return dead ? Effect.fail(lost) : Effect.succeed(value)
      })
    })
  const doing = <A>(work: () => A) => alive(Effect.sync(work))

  const world: TurnWorld = {
    model: (request) =>
      Stream.unwrap(
        doing(() => {
          store.requests.push(structuredClone(request))
          const answer = options.model(request)
          return "_tag" in answer ? Stream.fail(answer) : Stream.fromIterable(answer)
        }),
      ),
    limits: () => ({ contextTokens: options.contextTokens ?? 200_000, outputTokens: 8_000 }),
    emit: (events) => doing(() => void store.events.push(...events)),
    session: doing(() => [...store.entries]),
    remember: (entries) => doing(() => void store.entries.push(...entries)),
    tell: (events, entries) =>
      doing(() => {
        store.events.push(...events)
        store.entries.push(...entries)
      }),
    hear: doing(() => {
      const heard = (options.told?.(store) ?? []).map((text): SessionEntry => ({ kind: "instruction", text }))
      store.entries.push(...heard)
      return heard
    }),
    permit: (call) => doing(() => options.permit?.(call) ?? { _tag: "Allowed" }),
    command: (run) =>
      alive(
        Effect.suspend(() => {
          store.effects.push(run.callId)
          return options.command?.(run) ?? Effect.succeed(ranWell)
        }),
      ),
    ask: (_, question) => doing(() => options.ask?.(question) ?? { _tag: "Answered", answer: "yes" }),
    fetch: (url) => doing(() => options.fetch?.(url) ?? { _tag: "Done", text: "a page" }),
    redact: options.redact ?? ((text) => text),
    tools: (options.tools ?? []).map((tool) => ({
      ...tool,
      call: (input, callId) => alive(tool.call(input, callId)),
    })),
  }
  return { world, operations: () => operations, died: () => dead }
}

export const request = (overrides: Partial<TurnRequest> & Pick<TurnRequest, "workingDirectory">): TurnRequest => ({
  runId: "run-1",
  projectId: "project-1",
  agentName: "Mira",
  source: "scripted",
  modelId: "scripted-1",
  systemPrompt: "You are an agent.",
  runContext: "The run.",
  skillContext: "",
  skillDeliveryMode: "none",
  callableMemoryGuidanceIncluded: false,
  task: "Write the file.",
  resumes: false,
  bounds: { maxSteps: 50, maxMinutes: 10 },
  withheldTools: [],
  maxOutputBytes: 4_194_304,
  ...overrides,
})

type Finish = Extract<ModelPart, { kind: "finish" }>

export const finish = (reason: Finish["reason"] = "stop", inputTokens = 0): ModelPart => ({
  kind: "finish",
  reason,
  usage: { inputTokens, outputTokens: 1, totalTokens: inputTokens + 1, totalNanoAiu: 0 },
  modelId: "scripted-1",
  timeToFirstTokenMs: null,
})

export const say = (text: string): ReadonlyArray<ModelPart> => [{ kind: "text", delta: text }, finish()]

/** An answer of calls: `[name, arguments]`, with ids that tell the step and the place. */
export const callTools =
  (...calls: ReadonlyArray<readonly [toolName: string, input: unknown]>) =>
  ({ labels }: ModelRequest): ReadonlyArray<ModelPart> => [
    ...calls.map(
      ([toolName, input], index): ModelPart => ({
        kind: "call",
        call: {
          callId: `call-${labels.step}-${index}`,
          toolName,
          arguments: typeof input === "string" ? input : JSON.stringify(input),
        },
      }),
    ),
    finish("tool_calls"),
  ]

type Answer = ReadonlyArray<ModelPart> | ModelFailed | ((request: ModelRequest) => ReadonlyArray<ModelPart>)

/** One answer for each exchange of a turn, by its number, so that an exchange that is repeated gets the same. */
export const script =
  (...answers: ReadonlyArray<Answer>) =>
  (request: ModelRequest): ReadonlyArray<ModelPart> | ModelFailed => {
    if (request.labels.purpose === "compaction") return say("SUMMARY")
    const answer = answers[request.labels.step] ?? say("Done.")
    return typeof answer === "function" ? answer(request) : answer
  }
