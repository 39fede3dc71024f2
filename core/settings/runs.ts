/** How far a run may go, and how a plan of runs is driven. */
import { Schema, SchemaGetter } from "effect"
import { absolutePath, clamped, flag, integer, section, text, texts } from "#core/settings/field.ts"

/** Minutes in a day: no wait inside a run is longer. */
const dayMinutes = 1_440

export const Runs = section("Runs.", {
  MaxRevisions: integer("Change requests that one run may receive.", 10, { min: 0, max: 1_000 }),
  AllowedRepositoryRoots: texts("Folders that a repository on this machine must lie in.", absolutePath),
  Workers: integer("Runs that this replica works on at a time; 0 leaves the work to other replicas.", 8, {
    min: 0,
    max: 1_000,
  }),
  CommitEmail: text("Address of the author in the commits of agents.", "svc@localhost"),
})

export const RunBounds = section("Bounds of one agent turn.", {
  MaxSteps: integer("Steps until the turn is stopped.", 50, { min: 1, max: 10_000 }),
  MaxMinutes: integer("Minutes until the turn is stopped.", 10, { min: 1, max: dayMinutes }),
})

/** Longest wait for what an agent still has to write after its turn, in seconds. */
const finalizationMaxSeconds = 600

const CoordinatorFields = section(
  "How a plan is driven.",
  {
    SubtaskStallTimeoutMinutes: integer("Minutes without an event until a subtask counts as stalled.", 5, {
      min: 1,
      max: dayMinutes,
    }),
    MaxParallelSubtasks: integer("Subtasks of one plan that are worked on at the same time.", 4, { min: 1, max: 20 }),
    AssemblyBuildTestTimeoutMinutes: integer("Minutes for Build & Test of an assembly.", 20, {
      min: 1,
      max: dayMinutes,
    }),
    AssemblyBuildTestStallTimeoutMinutes: integer("Minutes without output until Build & Test counts as stalled.", 12, {
      min: 1,
      max: dayMinutes,
    }),
    PodLeaseStaleTtlSeconds: integer("Seconds without a heartbeat until another replica may take a plan.", 120, {
      min: 2,
      max: 3_600,
    }),
    PodLeaseHeartbeatSeconds: integer("Seconds between heartbeats of a plan's lease.", 30, { min: 1, max: 1_800 }),
    StaleLockThresholdSeconds: integer("Age in seconds from which a git index lock without an owner is removed.", 15, {
      min: 1,
      max: 3_600,
    }),
    PostTurnFinalizationGraceSeconds: clamped(
      "Seconds of quiet that end the wait after a turn; clamped 0.1 to 30.",
      10,
      {
        min: 0.1,
        max: 30,
      },
    ),
    PostTurnFinalizationMaxWaitSeconds: clamped(
      "Seconds after which the wait after a turn ends in any case; clamped between the grace and 600.",
      300,
      { min: 0.1, max: finalizationMaxSeconds },
    ),
  },
  (coordinator) =>
    coordinator.PodLeaseHeartbeatSeconds * 2 <= coordinator.PodLeaseStaleTtlSeconds
      ? []
      : [
          {
            path: ["PodLeaseHeartbeatSeconds"],
            issue:
              "Expected at most half of Coordinator:PodLeaseStaleTtlSeconds, or one late heartbeat loses the lease",
          },
        ],
)

export const Coordinator = CoordinatorFields.pipe(
  Schema.decodeTo(Schema.toType(CoordinatorFields), {
    decode: SchemaGetter.transform((coordinator) => ({
      ...coordinator,
      PostTurnFinalizationMaxWaitSeconds: Math.max(
        coordinator.PostTurnFinalizationMaxWaitSeconds,
        coordinator.PostTurnFinalizationGraceSeconds,
      ),
    })),
    encode: SchemaGetter.passthrough(),
  }),
)

export const MemoryContext = section("What of the memory goes into a turn.", {
  MaxItems: integer("Memories at most.", 20, { min: 0, max: 1_000 }),
  MaxTokens: integer("Tokens at most, at 4 characters each.", 4_000, { min: 0, max: 1_000_000 }),
})

export const Rai = section("The responsible-AI review of a diff.", {
  FailClosedOnError: flag("An answer of the reviewer that cannot be read counts as red.", true),
})
