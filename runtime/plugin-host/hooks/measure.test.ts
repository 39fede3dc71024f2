import { Context, Effect, Metric } from "effect"
import { expect, it } from "vitest"
import { HookFault } from "#core/hook.ts"
import type { Outcome } from "#runtime/plugin-host/hooks/call.ts"
import { measureWith } from "#runtime/plugin-host/hooks/measure.ts"
import { makeMetrics } from "#runtime/telemetry/metrics.ts"

const by = {
  plugin: "guard",
  version: "1.0.0",
  question: "command.run",
  priority: 1,
  mode: "enforce",
  failure: "closed",
  answer: () => Effect.succeed(undefined),
} as const

it("counts answers, faults, fuel and time of each plugin", async () => {
  const metrics = makeMetrics(Context.make(Metric.MetricRegistry, new Map()))
  const measure = measureWith(metrics)
  const outcomes: ReadonlyArray<Outcome> = [
    { _tag: "Answered", by, durationMs: 2, fuel: 70, answer: {}, encoded: {} },
    { _tag: "Abstained", by, durationMs: 2, fuel: 30 },
    { _tag: "Faulted", by, durationMs: 40, fuel: 1_000, fault: new HookFault({ reason: "out_of_fuel", message: "" }) },
  ]
  for (const outcome of outcomes) measure("command.run", outcome)
  const lines = (await Effect.runPromise(metrics.text)).split("\n")
  const about = 'plugin="guard",question="command.run"'
  for (const outcome of ["answered", "no_opinion", "fault"]) {
    expect(lines).toContain(`svc_policy_answers_total{${about},mode="enforce",outcome="${outcome}"} 1`)
  }
  expect(lines).toContain('svc_policy_faults_total{plugin="guard",reason="out_of_fuel"} 1')
  expect(lines).toContain('svc_policy_fuel_total{plugin="guard"} 1100')
  expect(lines).toContain(`svc_policy_duration_seconds_count{${about}} 3`)
})
