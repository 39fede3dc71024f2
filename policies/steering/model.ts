/** What is known when a steering signal arrives, and what can be decided. */
import { Effect, Schema } from "effect"

const Ids = Schema.Array(Schema.Int)
const Names = Schema.Array(Schema.String)

export const SteeringSignal = Schema.Struct({
  coordinatorRunId: Schema.String,
  source: Schema.Literals(["human-review", "rai", "rubberduck", "build-test", "agent", "coordinator", "step"]),
  targetScope: Schema.Struct({
    kind: Schema.Literals(["run", "work-plan", "subtask"]),
    subtaskIds: Schema.optionalKey(Ids),
    childRunId: Schema.optionalKey(Schema.String),
  }),
  feedback: Schema.String.annotate({ description: "Reasoning for whoever acts on it; never read for routing." }),
  severity: Schema.Literals(["advisory", "request-changes", "blocking"]),
  verb: Schema.Literals(["stop", "send", "redirect", "amend", "dispatch-fresh"]),
  treeHash: Schema.NullOr(Schema.String),
  targetFiles: Schema.NullOr(Names).annotate({ description: "Files that the reviewer named in so many words." }),
  createdBy: Schema.String,
}).annotate({ identifier: "SteeringSignal" })
export type SteeringSignal = typeof SteeringSignal.Type

export const SubtaskView = Schema.Struct({
  subtaskId: Schema.Int,
  status: Schema.Literals([
    "pending",
    "dispatched",
    "running",
    "pending_capacity",
    "assemble_ready",
    "completed",
    "rai_flagged",
    "failed",
    "blocked",
  ]),
  assignedAgent: Schema.String,
  childRunId: Schema.NullOr(Schema.String),
  resumable: Schema.Boolean.annotate({ description: "Its session and checkout are still there to be continued." }),
  hasContext: Schema.Boolean.annotate({
    description: "There is work or feedback that a fresh child would start from.",
  }),
  touchedFiles: Names.annotate({ description: "Files of its commits." }),
  eligibleAgents: Names.annotate({ description: "Who may take it, best first; the assigned agent is one of them." }),
  lockedOutAgents: Names,
  recoveryAttempts: Schema.Int,
}).annotate({ identifier: "SubtaskView" })
export type SubtaskView = typeof SubtaskView.Type

export const PlanView = Schema.Struct({
  workPlanId: Schema.Int,
  status: Schema.String,
  reviewGateArmed: Schema.Boolean.annotate({ description: "The run waits for a person's review." }),
  subtasks: Schema.Array(SubtaskView),
  dependencies: Schema.Array(Schema.Struct({ subtaskId: Schema.Int, dependsOnSubtaskId: Schema.Int })),
}).annotate({ identifier: "PlanView" })
export type PlanView = typeof PlanView.Type

export const SteeringBudgets = Schema.Struct({
  recoveryAttemptsPerSubtask: Schema.Int,
  steeringIterationsPerPlan: Schema.Int,
  steeringIterationsUsed: Schema.Int,
}).annotate({ identifier: "SteeringBudgets" })
export type SteeringBudgets = typeof SteeringBudgets.Type

/** Recovery attempts of one subtask before a person is asked. */
export const recoveryAttemptsPerSubtask = 3
/** Decisions about one plan, without a person in between, before one is asked. */
export const steeringIterationsPerPlan = 6

export const SteeringAsk = Schema.Struct({ signal: SteeringSignal, plan: PlanView, budgets: SteeringBudgets })
export type SteeringAsk = typeof SteeringAsk.Type

/** Who works on a subtask from now on, and who no longer may: the whole set, not what is added to it. */
export const Assignment = Schema.Struct({
  subtaskId: Schema.Int,
  assignedAgent: Schema.String,
  lockedOutAgents: Names,
}).annotate({ identifier: "Assignment" })
export type Assignment = typeof Assignment.Type

/** Nobody could be told from the files that were named, so all who contributed are meant. */
export const ScopeFallback = Schema.Struct({
  reason: Schema.Literals(["no_target_files_field", "target_files_matched_nothing"]),
  namedFiles: Names,
  touchedFiles: Names,
  contributorIds: Ids,
}).annotate({ identifier: "ScopeFallback" })

const orNothing = <S extends Schema.Top>(schema: S, nothing: S["Encoded"]) =>
  schema.pipe(Schema.withDecodingDefaultKey(Effect.succeed(nothing)))

export const SteeringAnswer = Schema.Struct({
  decision: Schema.Literals(["in_place_steer", "dispatch_fresh", "proceed", "advisory"]),
  rationale: Schema.String.annotate({ description: "A short code, such as single_eligible_agent." }),
  subtaskIds: Ids.annotate({ description: "The subtasks that are steered or dispatched." }),
  attempt: orNothing(Schema.Int, 1),
  implicatedSubtaskIds: orNothing(Ids, []),
  dependentSubtaskIds: orNothing(Ids, []),
  assignments: orNothing(Schema.Array(Assignment), []),
  resetBudgets: orNothing(Schema.Boolean, false),
  scopeFallback: orNothing(Schema.NullOr(ScopeFallback), null),
  escalation: Schema.optionalKey(Schema.Literal("human_review")),
  disposition: Schema.optionalKey(Schema.Literal("rejection")),
}).annotate({ identifier: "SteeringAnswer" })
export type SteeringAnswer = typeof SteeringAnswer.Type
