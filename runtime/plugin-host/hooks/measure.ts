/** What each answer of a plugin cost, as metrics. Labels are names of plugins and questions: as many as are installed. */
import type { MetricsShape } from "#core/ports/metrics.ts"
import type { Outcome } from "#runtime/plugin-host/hooks/call.ts"

const millisInSecond = 1_000

export const measureWith =
  (metrics: MetricsShape) =>
  (question: string, outcome: Outcome): void => {
    const { plugin, mode } = outcome.by
    metrics.count("svc_policy_answers_total", { plugin, question, mode, outcome: nameOf(outcome) })
    metrics.observe("svc_policy_duration_seconds", outcome.durationMs / millisInSecond, { plugin, question })
    if (outcome.fuel !== null) metrics.count("svc_policy_fuel_total", { plugin }, outcome.fuel)
    if (outcome._tag === "Faulted") metrics.count("svc_policy_faults_total", { plugin, reason: outcome.fault.reason })
  }

const nameOf = ({ _tag }: Outcome): string => {
  switch (_tag) {
    case "Answered":
      return "answered"
    case "Abstained":
      return "no_opinion"
    case "Faulted":
      return "fault"
  }
}
