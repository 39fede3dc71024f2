/** `workflow.step`: a stage of a run started, was done, failed or was left out. */
import { DateTime, Effect } from "effect"
import { WorkflowStep } from "#core/run/events/run.ts"
import type { Run } from "#core/run/run.ts"

const labels = {
  agent: "Agent",
  rai: "Responsible AI",
  review: "Human review",
  merge: "Merge",
  scribe: "Scribe",
} as const

export const stepEvent = (
  run: Pick<Run, "agentName" | "reviewedBy">,
  step: keyof typeof labels,
  status: "started" | "completed" | "failed" | "skipped",
  message?: string,
) =>
  Effect.map(DateTime.now, (now) =>
    WorkflowStep.of({
      step,
      status,
      label: labels[step],
      timestamp_utc: DateTime.formatIso(now),
      agent_name: run.agentName,
      reviewer: step === "review" ? run.reviewedBy : null,
      ...(message === undefined ? {} : { message }),
    }),
  )
