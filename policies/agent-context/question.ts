/** `agent.context`: what an agent is told at the start of a turn. Plugins add, change and take away sections. */
import { Schema } from "effect"
import { refineQuestion } from "#core/hook.ts"
import { nullable, runId, text } from "#policies/fields.ts"

const Section = Schema.Struct({
  id: text.annotate({ description: "Stays the same from turn to turn: `charter`, `memory`, `skills`, …" }),
  title: text,
  text,
}).annotate({ identifier: "ContextSection" })

const AgentContext = Schema.Struct({ sections: Schema.Array(Section) })

export const agentContext = refineQuestion({
  name: "agent.context",
  summary: "The context of a turn was composed and is about to be sent to the model.",
  ask: Schema.Struct({ runId, projectId: nullable, agentName: text, task: text, ...AgentContext.fields }),
  answer: AgentContext,
  builtIn: ({ sections }) => ({ sections }),
  refined: (ask, { sections }) => ({ ...ask, sections }),
})
