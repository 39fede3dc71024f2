/**
 * The tools that running plugins give to the agent of a run. A plugin that fails costs the agent its tools, or the one
 * call, and counts as a fault of the plugin.
 */
import { Effect } from "effect"
import type { AgentRun } from "#core/agent-tools.ts"
import type { ServiceTool, ToolAnswer } from "#core/wire/turn.ts"
import type { Entry } from "#runtime/plugin-host/entry.ts"
import type { Instance } from "#runtime/plugin-host/instance.ts"

const failed: ToolAnswer = { _tag: "Failed", message: "The tool failed. Go on without it." }

/** Where two plugins have a tool of one name, the first has it. */
export const agentToolsOf = (entries: ReadonlyArray<Entry>, run: AgentRun): ReadonlyArray<ServiceTool> => {
  const named = new Map<string, ServiceTool>()
  for (const { state, instance } of entries) {
    if (state !== "running" || instance === undefined) continue
    for (const tool of offered(instance, run)) if (!named.has(tool.name)) named.set(tool.name, tool)
  }
  return [...named.values()]
}

const offered = (instance: Instance, run: AgentRun): ReadonlyArray<ServiceTool> => {
  const { agentTools } = instance.contribution
  if (agentTools === undefined) return []
  try {
    return agentTools(run).map((tool) => guarded(instance, tool))
  } catch (error) {
    instance.faulted("agent tools", error)
    return []
  }
}

const guarded = (instance: Instance, tool: ServiceTool): ServiceTool => ({
  ...tool,
  call: (input, callId) =>
    Effect.suspend(() => tool.call(input, callId)).pipe(
      instance.serve(`tool ${tool.name}`),
      Effect.catchDefect(() => Effect.succeed(failed)),
    ),
})
