/**
 * Why a run is where it is: what the log shows, what that can mean, and what somebody could do. Observed facts and
 * interpretations are kept apart, and every interpretation names the facts that it rests on.
 */
import { Effect, Schema } from "effect"
import type { Run } from "#core/run/run.ts"
import { isTerminal } from "#core/run/status.ts"
import type { SqlShape } from "#core/sql.ts"
import { workerLost } from "#runtime/runs/failure.ts"

const Fact = Schema.Struct({ code: Schema.String, detail: Schema.String, sequence: Schema.NullOr(Schema.Int) })
type Fact = typeof Fact.Type

const Interpretation = Schema.Struct({
  code: Schema.String,
  explanation: Schema.String,
  /** Codes of the facts that support it. */
  based_on: Schema.Array(Schema.String),
})
type Interpretation = typeof Interpretation.Type

export const TerminalDiagnostic = Schema.Struct({
  run_id: Schema.String,
  status: Schema.String,
  is_terminal: Schema.Boolean,
  observed_facts: Schema.Array(Fact),
  supported_interpretations: Schema.Array(Interpretation),
  evidence_sources: Schema.Array(Schema.String),
  /** `complete`: the log holds the end of the run. `partial`: the run goes on, or its end left no event. */
  completeness: Schema.Literals(["complete", "partial"]),
  denial_gate: Schema.optionalKey(Schema.String),
  next_actions: Schema.Array(Schema.String),
})

interface Telling {
  readonly sequence: number
  readonly type: string
  readonly payload: Readonly<Record<string, unknown>>
}

const telling = [
  "run.failed",
  "run.cancelled",
  "run.completed",
  "run.bounded",
  "run.error",
  "run.degraded",
  "run.rai_error",
  "rai.verdict",
  "review.declined",
  "merge.failed",
  "merge.conflicted",
  "merge.completed",
  "tool.approval_resolved",
  "tool.approval_denied",
  "shell.approval_denied",
  "policy.fault",
]

/** Events that end a run. */
const endings = new Set([
  "run.failed",
  "run.cancelled",
  "run.completed",
  "run.assemble_ready",
  "review.declined",
  "merge.failed",
  "merge.completed",
])

/** Characters of one detail. */
const maxDetail = 500

const detailOf = ({ payload }: Telling): string => {
  const said = payload.message ?? payload.reason ?? payload.rationale ?? payload.limit_type ?? payload.result
  return (typeof said === "string" ? said : JSON.stringify(payload)).slice(0, maxDetail)
}

const meanings: ReadonlyArray<Interpretation & { readonly gate?: string; readonly next: ReadonlyArray<string> }> = [
  {
    code: "unsafe_content",
    explanation:
      "The responsible-AI review refused the change, or its answer could not be read and counts as a refusal.",
    based_on: ["rai.verdict:red"],
    gate: "rai",
    next: ["Read the rationale of rai.verdict.", "Change the task and start a new run."],
  },
  {
    code: "bound_reached",
    explanation: "The agent used all the steps or all the time that one turn may have.",
    based_on: ["run.bounded"],
    next: ["Make the task smaller, or raise RunBounds:MaxSteps or RunBounds:MaxMinutes.", "Retry the run."],
  },
  {
    code: "merge_conflict",
    explanation: "The branch moved on, and git cannot bring both together.",
    based_on: ["merge.conflicted"],
    gate: "merge",
    next: ["Look at the conflicting files.", "Retry the run: it starts from the branch as it is now."],
  },
  {
    code: "merge_refused",
    explanation: "The repository could not take the merge as it was.",
    based_on: ["merge.failed"],
    gate: "merge",
    next: ["Look at the reason in merge.failed.", "Retry the run."],
  },
  {
    code: "person_declined",
    explanation: "A reviewer declined the change.",
    based_on: ["review.declined"],
    gate: "human-review",
    next: ["Start a new run with what the reviewer expects."],
  },
  {
    code: "worker_lost",
    explanation: "A worker ended in the middle of its work, and another one went on from what was stored.",
    based_on: ["run.error:worker_lost"],
    next: [],
  },
  {
    code: "work_undone",
    explanation: "Something could not be done, and the run is where it was before: it can be tried again.",
    based_on: ["run.error"],
    next: ["Look at the reason in run.error, and do again what was refused."],
  },
  {
    code: "sandbox_refused",
    explanation: "Commands could not be run: the sandbox or the policy of the repository does not allow it.",
    based_on: ["run.degraded"],
    gate: "sandbox",
    next: ["Run `svc doctor`, and look at the sandbox policy of the repository."],
  },
  {
    code: "approval_denied",
    explanation: "A person refused something that the agent wanted to do.",
    based_on: ["tool.approval_denied"],
    gate: "tool-approval",
    next: [],
  },
  {
    code: "command_denied",
    explanation: "A person refused a command.",
    based_on: ["shell.approval_denied"],
    gate: "shell-approval",
    next: [],
  },
  {
    code: "work_failed",
    explanation: "The work could not go on; the error code of run.failed says where.",
    based_on: ["run.failed"],
    next: ["Look at errorCode and message of run.failed.", "Where it is retryable, retry the run."],
  },
  {
    code: "cancelled",
    explanation: "The run was cancelled, by a person or with its project.",
    based_on: ["run.cancelled"],
    next: ["Start a new run where the work is still wanted."],
  },
]

const codeOf = ({ type, payload }: Telling): string => {
  if (type === "rai.verdict") return `rai.verdict:${String(payload.verdict)}`
  return type === "run.error" && payload.reason === workerLost ? "run.error:worker_lost" : type
}

export const diagnose = (run: Pick<Run, "runId" | "status" | "result">, events: ReadonlyArray<Telling>) => {
  const facts: ReadonlyArray<Fact> = [
    { code: "status", detail: run.result === null ? run.status : `${run.status}: ${run.result}`, sequence: null },
    ...events.map((event) => ({ code: codeOf(event), detail: detailOf(event), sequence: event.sequence })),
  ]
  const seen = new Set(facts.map((fact) => fact.code))
  const supported = meanings.filter(({ based_on }) => based_on.every((code) => seen.has(code)))
  const gate = supported.find((meaning) => meaning.gate !== undefined)?.gate
  const ended = isTerminal(run.status)
  return {
    run_id: run.runId,
    status: run.status,
    is_terminal: ended,
    observed_facts: facts,
    supported_interpretations: supported.map(({ code, explanation, based_on }) => ({ code, explanation, based_on })),
    evidence_sources: ["runs", "events"],
    completeness:
      ended && events.some((event) => endings.has(event.type)) ? ("complete" as const) : ("partial" as const),
    ...(gate === undefined ? {} : { denial_gate: gate }),
    next_actions: [...new Set(supported.flatMap((meaning) => meaning.next))],
  }
}

/** Facts at most: the latest. */
const maxFacts = 100

export const makeDiagnosis = (sql: SqlShape) =>
  Effect.fn("insight.diagnostic")(function* (run: Run) {
    const events = yield* sql<Telling>`
      select sequence, type, payload from (
        select sequence, type, payload from events
         where run_id = ${run.runId} and type = any(${[...telling, "run.assemble_ready"]}::text[])
         order by sequence desc limit ${maxFacts}) as latest
       order by sequence`
    return diagnose(run, events)
  })
