/**
 * What a turn must pass before each call: the tools that its agent has, the policies of plugins for it and for every
 * run above it, the rules of the shell, and the decisions of people. All must allow; what cannot be decided is
 * refused. Nothing waits here: where a person is to decide, the answer says so, and the turn is driven again later.
 */
import { Cause, Duration, Effect } from "effect"
import { Hooks } from "#core/hook.ts"
import type { Refusal } from "#core/refusal.ts"
import { RunWaits } from "#core/run/waits.ts"
import type { DatabaseUnavailable } from "#core/sql.ts"
import { TurnInterrupted, type TurnWorld, type Verdict } from "#core/wire/turn.ts"
import { permitToolCall } from "#policies/tool-call/lineage.ts"
import type { GateRules, GateRun, Patience } from "#runtime/turn/gate/run.ts"
import { makePermitShell, shellTool } from "#runtime/turn/gate/shell.ts"
import { allowed, refused } from "#runtime/turn/gate/verdict.ts"
import { fetchTool, makePermitFetch } from "#runtime/turn/gate/web-fetch.ts"

export const defaultPatience: Patience = {
  tool: Duration.minutes(5),
  shell: Duration.minutes(30),
  question: Duration.minutes(30),
}

export type Gate = Pick<TurnWorld, "permit" | "ask">

export const makeGate = Effect.fnUntraced(function* (run: GateRun, rules: GateRules) {
  const hooks = yield* Hooks
  const waits = yield* RunWaits
  const patience = { ...defaultPatience, ...rules.patience }
  const permitShell = yield* makePermitShell(run, rules, patience)
  const permitFetch = yield* makePermitFetch(run, patience)
  const { runId, fence, lineage } = run

  const decide = Effect.fnUntraced(function* (call: Parameters<Gate["permit"]>[0]) {
    const { callId, toolName } = call
    // a shell that is off is told of, also where the tool was taken away for it
    if (rules.withheldTools.includes(toolName) && toolName !== shellTool) return withheld(toolName)
    yield* permitToolCall(hooks, { ...call, arguments: call.arguments ?? null }, lineage)
    if (toolName === shellTool) {
      const verdict = yield* permitShell(callId, call.arguments)
      return rules.withheldTools.includes(toolName) && verdict._tag === "Allowed" ? withheld(toolName) : verdict
    }
    return toolName === fetchTool ? yield* permitFetch(callId, call.arguments) : allowed
  })

  const gate: Gate = {
    permit: Effect.fn("gate.permit")((call) => settled(decide(call))),
    ask: Effect.fn("gate.ask")((callId: string, question: string) =>
      waits
        .answerTo({ runId, fence, callId, question, patience: patience.question })
        .pipe(Effect.catchTags({ Refusal: (refusal) => Effect.fail(ended(refusal)), DatabaseUnavailable: away })),
    ),
  }
  return gate
})

const withheld = (toolName: string): Verdict => refused(`This agent does not have the tool ${toolName}.`)

/** Every way in which a decision can fail: an end of the turn, or a refusal; never a leave to go on. */
const settled = (
  decision: Effect.Effect<Verdict, Refusal | DatabaseUnavailable>,
): Effect.Effect<Verdict, TurnInterrupted> =>
  decision.pipe(
    Effect.catchTags({
      Refusal: (refusal) =>
        endings.has(refusal.code) ? Effect.fail(ended(refusal)) : Effect.succeed(refused(refusal.message)),
      DatabaseUnavailable: away,
    }),
    Effect.catchDefect((defect) =>
      Effect.as(
        Effect.logError("A tool call could not be judged, and was refused.", Cause.die(defect)),
        refused("Whether this is allowed could not be decided, so it is not."),
      ),
    ),
  )

const endings: ReadonlySet<string> = new Set(["run_not_found", "run_not_active", "lease_lost"])

const ended = ({ code, message }: Refusal): TurnInterrupted =>
  new TurnInterrupted({ reason: code === "lease_lost" ? "lease_lost" : "cancelled", message })

const away = ({ message }: DatabaseUnavailable): Effect.Effect<never, TurnInterrupted> =>
  Effect.fail(new TurnInterrupted({ reason: "unavailable", message }))
