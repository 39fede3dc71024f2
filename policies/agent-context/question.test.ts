import { expect, it } from "vitest"
import { agentContext } from "#policies/agent-context/question.ts"

const section = (id: string) => ({ id, title: id, text: id })
const ask = { runId: "run", projectId: null, agentName: "Writer", task: "write", sections: [section("charter")] }

it("leaves the context as it was composed", () => {
  expect(agentContext.builtIn(ask)).toEqual({ sections: ask.sections })
})

it("gives the next plugin the sections of the one before, and the same facts", () => {
  expect(agentContext.refined(ask, { sections: [] })).toEqual({ ...ask, sections: [] })
})
