/**
 * The scribe: once the work is merged, a model keeps what the team should remember, with the tools of the memory and no
 * others. What it says and does is told in a log of its own. It has no hand on the repository, so whatever goes wrong
 * with it is a remark about a run that is what it was.
 */
import { Duration, Effect, Stream } from "effect"
import { AgentTools } from "#core/agent-tools.ts"
import type { NewEvent } from "#core/event.ts"
import { EventLog } from "#core/event-log.ts"
import { Hooks } from "#core/hook.ts"
import { subStreamId } from "#core/ids.ts"
import { Models } from "#core/ports/models.ts"
import { redact } from "#core/redaction.ts"
import { AgentMessage, ToolCall, ToolError, ToolResult, TurnUsage } from "#core/run/events/turn.ts"
import type { ModelCall, ModelMessage, ModelPart } from "#core/wire/model.ts"
import type { ServiceTool, ToolAnswer } from "#core/wire/turn.ts"
import { permitToolCall } from "#policies/tool-call/lineage.ts"
import { planOf } from "#runtime/coordinator/evolve/parts.ts"
import { envelope, prompt } from "#runtime/coordinator/model/prompt.ts"
import type { CoordinatorState } from "#runtime/coordinator/state.ts"
import { readArguments, toldArguments } from "#sandbox-agent/turn/arguments.ts"

const scribe = "Scribe"

/** What it may call of all that plugins offer: reading and proposing, nothing that writes into the repository. */
const allowed: ReadonlySet<string> = new Set([
  "submit_inbox_entry",
  "list_inbox",
  "merge_inbox_entry",
  "list_decisions",
  "record_memory",
  "get_memory",
  "update_session",
])

/** Answers of the model. */
const maxSteps = 8
const timeLimit = Duration.minutes(2)
/** Things that reviewers and people said, the latest. */
const maxRemarks = 10
/** Characters of one of them, of a result for the model, and of one that its event shows. */
const maxRemark = 2_000
const maxResult = 40_000
const maxTold = 4_000

const question = (state: CoordinatorState): string => {
  const { subtasks, assembly } = planOf(state)
  return envelope({
    goal: state.run.goal,
    outcome: state.spec?.desiredOutcome ?? state.run.goal,
    merged: assembly.mergedCommit,
    parts: subtasks.map(({ title, assignedAgent, status }) => ({ title, agent: assignedAgent, status })),
    remarks: state.directives
      .slice(-maxRemarks)
      .map(({ signal }) => ({ by: signal.source, said: signal.feedback.slice(0, maxRemark) })),
  })
}

/** Null: done, or there is no memory to write to. Otherwise why it could not be done. */
export const runScribe = Effect.fn("orchestration.scribe")(function* (state: CoordinatorState) {
  const { run } = state
  const offered = (yield* AgentTools)({
    runId: run.runId,
    projectId: run.projectId,
    agentName: scribe,
    coordinator: true,
  })
  const tools = offered.filter(({ name }) => allowed.has(name))
  if (tools.length === 0) return null
  return yield* write(state, tools).pipe(
    Effect.timeoutOrElse({
      duration: timeLimit,
      orElse: () => Effect.succeed(`It was not done after ${Duration.format(timeLimit)}.`),
    }),
    Effect.catchTags({
      ModelFailed: ({ kind, message }) => Effect.succeed(`${kind}: ${message}`),
      TurnInterrupted: ({ message }) => Effect.succeed(message),
      Refusal: ({ message }) => Effect.succeed(message),
      DatabaseUnavailable: ({ message }) => Effect.succeed(message),
    }),
    Effect.catchDefect((defect) =>
      Effect.as(Effect.logError("The scribe could not work.", defect), "It failed for a reason that the log tells."),
    ),
  )
})

const write = Effect.fnUntraced(function* (state: CoordinatorState, tools: ReadonlyArray<ServiceTool>) {
  const { run } = state
  const models = yield* Models
  const log = yield* EventLog
  const tell = (events: ReadonlyArray<NewEvent>) => log.append(subStreamId(run.runId, "scribe"), events)
  const messages: Array<ModelMessage> = [{ role: "user", text: question(state) }]
  for (let step = 0; step < maxSteps; step++) {
    const parts: ReadonlyArray<ModelPart> = yield* Stream.runCollect(
      models.stream({
        source: run.modelSource,
        modelId: run.modelId,
        system: prompt("scribe"),
        messages: [...messages],
        tools: tools.map(({ name, description, inputSchema }) => ({ name, description, inputSchema })),
        labels: { runId: run.runId, projectId: run.projectId, agentName: scribe, purpose: "scribe", step },
      }),
    )
    const text = parts.map((part) => (part.kind === "text" ? part.delta : "")).join("")
    const calls = parts.flatMap((part) => (part.kind === "call" ? [part.call] : []))
    const end = parts.find((part) => part.kind === "finish")
    yield* tell([
      ...(text === "" ? [] : [AgentMessage.of({ messageId: `scribe-${step}`, content: redact(text) })]),
      ...(end === undefined ? [] : [TurnUsage.of({ ...end.usage, modelId: end.modelId })]),
    ])
    if (calls.length === 0) return null
    const results = yield* Effect.forEach(calls, (call) =>
      Effect.gen(function* () {
        const { callId, toolName } = call
        yield* tell([ToolCall.of({ callId, toolName, arguments: toldArguments(call.arguments, redact) })])
        const answer = yield* perform(state, tools, call)
        const isError = answer._tag !== "Done"
        const said =
          answer._tag === "Done" ? answer.text : answer._tag === "Failed" ? answer.message : "Nobody is asked."
        const told = redact(said).slice(0, maxTold)
        yield* tell([isError ? ToolError.of({ callId, errorMessage: told }) : ToolResult.of({ callId, content: told })])
        return { callId, toolName, text: said.slice(0, maxResult), isError }
      }),
    )
    const opaque = end?.opaque
    messages.push({ role: "assistant", text, calls, ...(opaque === undefined ? {} : { opaque }) })
    messages.push({ role: "tool", results })
  }
  return `It was not done after ${maxSteps} answers of its model.`
})

const refused = (message: string): ToolAnswer => ({ _tag: "Failed", message })

/** Policies are asked as for every agent. */
const perform = Effect.fnUntraced(function* (
  { run }: CoordinatorState,
  tools: ReadonlyArray<ServiceTool>,
  { callId, toolName, arguments: given }: ModelCall,
) {
  const tool = tools.find(({ name }) => name === toolName)
  if (tool === undefined) return refused(`There is no tool ${JSON.stringify(toolName)}.`)
  const read = readArguments(given)
  if (read._tag === "Unreadable") return refused(`The arguments of ${toolName} cannot be read. ${read.problem}`)
  const hooks = yield* Hooks
  const ask = { callId, toolName, arguments: read.value }
  return yield* permitToolCall(hooks, ask, [{ runId: run.runId, agentName: scribe }]).pipe(
    Effect.andThen(tool.call(read.value, callId)),
    Effect.catchTag("Refusal", ({ message }) => Effect.succeed(refused(`Refused: ${message}`))),
  )
})
