/**
 * One piece of work of an agent, as the turn engine does it: what it is given, whom it asks, what it tells.
 * The engine runs in the service's process and, with the same shapes, in a pod; it knows nothing else of the
 * service. Everything that it may do passes `TurnWorld`.
 */
import { type Duration, type Effect, Schema, type Stream } from "effect"
import {
  ModelCall,
  type ModelFailed,
  type ModelLimits,
  ModelMessage,
  type ModelPart,
  type ModelRequest,
} from "#core/wire/model.ts"

export interface TurnRequest {
  readonly runId: string
  readonly projectId: string | null
  readonly agentName: string | null
  /** Where the model comes from, and which. */
  readonly source: string
  readonly modelId: string | null
  /** The agent's charter and the rules of the house. */
  readonly systemPrompt: string
  /** Context of this run, memory, skills: each with the characters that it adds, for `agent.runtime_context`. */
  readonly runContext: string
  readonly skillContext: string
  readonly skillDeliveryMode: "none" | "file" | "inline" | "mixed"
  readonly callableMemoryGuidanceIncluded: boolean
  /** What the agent is to do now: the task, or the comment of a revision. */
  readonly task: string
  /** The checkout: absolute, real path. */
  readonly workingDirectory: string
  /** The session of this run goes on (a revision, a wait that has ended, a worker that was lost). */
  readonly resumes: boolean
  readonly bounds: { readonly maxSteps: number; readonly maxMinutes: number }
  /** Names of tools that this agent does not have, such as `run_command` where the shell is off. */
  readonly withheldTools: ReadonlyArray<string>
  readonly maxOutputBytes: number
}

/** What the session of a run is made of, in order. It is stored, and outlives every worker. */
export const SessionEntry = Schema.Union([
  Schema.Struct({ kind: Schema.Literal("message"), message: ModelMessage }),
  /** What a person or the coordinator told the agent while it was at work: a user message that is no new task. */
  Schema.Struct({ kind: Schema.Literal("instruction"), text: Schema.String }),
  /** Written before a call has any effect: a call that was started and has no result was cut off. */
  Schema.Struct({ kind: Schema.Literal("call_started"), callId: Schema.String }),
  /** After its start: it waits for a person, had no effect so far, and is called again when they have decided. */
  Schema.Struct({ kind: Schema.Literal("call_waits"), callId: Schema.String }),
  Schema.Struct({
    kind: Schema.Literal("call_result"),
    call: ModelCall,
    text: Schema.String,
    isError: Schema.Boolean,
  }),
  /**
   * All entries before it are replaced by this text when the model is asked, but for the last `keeps` of them
   * (of those that the compaction before it left); none where absent.
   */
  Schema.Struct({
    kind: Schema.Literal("compaction"),
    summary: Schema.String,
    keeps: Schema.optionalKey(Schema.Int),
  }),
])
export type SessionEntry = typeof SessionEntry.Type

export interface TurnEvent {
  readonly type: string
  readonly payload: unknown
}

/** The way out of the world: the run was cancelled, its lease was lost, or storage does not answer. */
export class TurnInterrupted extends Schema.TaggedError<TurnInterrupted>()("TurnInterrupted", {
  reason: Schema.Literals(["cancelled", "lease_lost", "unavailable"]),
  message: Schema.String,
}) {}

/** `Waits`: a person is to decide; the turn ends and is driven again when they have. */
export type Verdict =
  | { readonly _tag: "Allowed" }
  | { readonly _tag: "Refused"; readonly reason: string }
  | { readonly _tag: "Waits"; readonly requestId: string }

export interface CommandRun {
  readonly callId: string
  readonly command: string
  readonly timeout: Duration.Duration
  /** Chunks as they come: redacted already. */
  readonly onOutput: (stream: "stdout" | "stderr", text: string) => Effect.Effect<void, TurnInterrupted>
  /** About every 20 s while it runs. */
  readonly onWait: (elapsedSeconds: number) => Effect.Effect<void, TurnInterrupted>
}

/** Output redacted and capped together at the policy's limit. `exitCode` is -1 where it was killed. */
export interface CommandResult {
  readonly exitCode: number
  readonly timedOut: boolean
  readonly outputTruncated: boolean
  readonly stdout: string
  readonly stderr: string
}

/** A tool of the service that an agent may call: memory, messages, previews. Decodes its own arguments. */
export interface ServiceTool {
  readonly name: string
  readonly description: string
  readonly inputSchema: unknown
  readonly call: (input: unknown, callId: string) => Effect.Effect<ToolAnswer, TurnInterrupted>
}

/** `suspends`: see `Verdict.Waits`. Text for the model. */
export type ToolAnswer =
  | { readonly _tag: "Done"; readonly text: string }
  | { readonly _tag: "Failed"; readonly message: string }
  | { readonly _tag: "Waits"; readonly requestId: string }

export interface TurnWorld {
  readonly model: (request: ModelRequest) => Stream.Stream<ModelPart, ModelFailed | TurnInterrupted>
  readonly limits: (source: string, modelId: string | null) => ModelLimits
  /** Appended to the run's log, in order, before the effect ends. */
  readonly emit: (events: ReadonlyArray<TurnEvent>) => Effect.Effect<void, TurnInterrupted>
  readonly session: Effect.Effect<ReadonlyArray<SessionEntry>, TurnInterrupted>
  readonly remember: (entries: ReadonlyArray<SessionEntry>) => Effect.Effect<void, TurnInterrupted>
  /** Both in one transaction: what is told and what is remembered agree. */
  readonly tell: (
    events: ReadonlyArray<TurnEvent>,
    entries: ReadonlyArray<SessionEntry>,
  ) => Effect.Effect<void, TurnInterrupted>
  /**
   * What the agent was told since it was last asked, oldest first. It is in the session when this ends; between two
   * answers of the model only, and before the last word counts.
   */
  readonly hear: Effect.Effect<ReadonlyArray<SessionEntry>, TurnInterrupted>
  /** Asked before every call, after its `tool.call`: the policies, the shell's rules, the approvals of people. */
  readonly permit: (call: {
    readonly callId: string
    readonly toolName: string
    readonly arguments: unknown
  }) => Effect.Effect<Verdict, TurnInterrupted>
  /** In the sandbox. Fails with the reason for the model where the sandbox cannot run it. */
  readonly command: (run: CommandRun) => Effect.Effect<CommandResult, CommandRefused | TurnInterrupted>
  /** `answer` is null where nobody answered in time. */
  readonly ask: (
    callId: string,
    question: string,
  ) => Effect.Effect<
    | { readonly _tag: "Answered"; readonly answer: string | null }
    | { readonly _tag: "Waits"; readonly requestId: string },
    TurnInterrupted
  >
  /** By the guarded client: public addresses only. Text for the model, or the reason why not. */
  readonly fetch: (url: string) => Effect.Effect<ToolAnswer, TurnInterrupted>
  /** Secrets, and personal data where the policy says so, are taken out. For everything that is stored or told. */
  readonly redact: (text: string) => string
  readonly tools: ReadonlyArray<ServiceTool>
}

export class CommandRefused extends Schema.TaggedError<CommandRefused>()("CommandRefused", { reason: Schema.String }) {}

export type TurnOutcome =
  /** The agent stopped by itself. `outcome` is what it reported of its work, if it did. */
  | {
      readonly _tag: "Finished"
      readonly steps: number
      readonly message: string
      readonly outcome: { readonly achieved: boolean; readonly reason: string } | null
    }
  /** The work so far is kept. */
  | { readonly _tag: "Bounded"; readonly steps: number; readonly limit: "max_steps" | "max_minutes" }
  | { readonly _tag: "Waiting"; readonly steps: number; readonly requestIds: ReadonlyArray<string> }
