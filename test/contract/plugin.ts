/** Plugins for the tests of their contract, and how a host of them is asked. */
import { Effect, Schema, Stream } from "effect"
import { type allowed, handler } from "#core/hook.ts"
import { definePlugin, type PluginSpec } from "#core/plugin.ts"
import { access, type Route, route } from "#core/route.ts"
import { previewPublish } from "#policies/preview/question.ts"
import type { Candidate, PluginSource } from "#runtime/plugin-host/candidate.ts"
import type { PluginHostShape } from "#runtime/plugin-host/host.ts"

export const builtIn: PluginSource = { kind: "built-in" }

export const candidate = (
  name: string,
  more: Partial<PluginSpec<undefined>> = {},
  source: PluginSource = builtIn,
): Candidate => ({
  plugin: definePlugin({ name, setup: () => Effect.succeed({}), ...more }),
  source,
})

export const get = (path: string, handle: Route["handle"] = () => Effect.succeed({ ok: true })): Route =>
  route({ method: "GET", path, access: access.authenticated, summary: "", tag: "Test", answer: Schema.Unknown, handle })

export const preview = {
  runId: "6f2c7a52-3a52-4a0c-9c1f-3f3f0c5b1a01",
  projectId: null,
  workPlanId: null,
  treeHash: null,
  targetPort: 3_000,
  source: "test",
  requestedBy: "ada",
  lifetimeMinutes: 60,
}
export const model = {
  runId: preview.runId,
  projectId: null,
  agentName: "Writer",
  subtask: null,
  requestedModelId: null,
  agentModelId: null,
  projectModelId: null,
  defaultModelId: "m",
}
export const context = { runId: preview.runId, projectId: null, agentName: "Writer", task: "", sections: [] }
export const review = { runId: preview.runId, workPlanId: null, treeHash: null, files: [], diff: "", replies: [] }

export const reportOf = (host: PluginHostShape, name: string) =>
  Effect.map(host.list, (reports) => reports.find((report) => report.name === name))

/** Waits until the host has seen a change after which this holds. */
export const until = (host: PluginHostShape, holds: Effect.Effect<boolean>) =>
  host.changes.pipe(
    Stream.mapEffect(() => holds),
    Stream.filter((held) => held),
    Stream.runHead,
    Effect.timeout("10 seconds"),
  )

export const isQuarantined = (host: PluginHostShape, name: string) =>
  Effect.map(reportOf(host, name), (report) => report?.state === "quarantined")

export const guard = (answer: Parameters<typeof handler<typeof previewPublish.ask.Type, typeof allowed>>[1]) =>
  handler(previewPublish, answer)
