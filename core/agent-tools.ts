/** The tools that the service itself, by its plugins, gives to the agent of a run. */
import { Context } from "effect"
import type { ServiceTool } from "#core/wire/turn.ts"

/** Whose tools they are: as stored, never as the agent says. */
export interface AgentRun {
  readonly runId: string
  readonly projectId: string | null
  readonly agentName: string | null
  /** The run plans and assembles. */
  readonly coordinator: boolean
}

export type AgentToolSource = (run: AgentRun) => ReadonlyArray<ServiceTool>

/** Those of all running plugins. Without a plugin host there are none. */
export const AgentTools = Context.Reference<AgentToolSource>("core/AgentTools", { defaultValue: () => () => [] })
