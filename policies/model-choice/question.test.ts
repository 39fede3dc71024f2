import { expect, it } from "vitest"
import { chooseModel } from "#policies/model-choice/question.ts"

const nobody = { requestedModelId: null, agentModelId: null, projectModelId: null, defaultModelId: "default" }
const base = { runId: "run", projectId: null, agentName: "Writer", subtask: null }

it.each([
  ["the caller's", { requestedModelId: "m1", agentModelId: "m2", projectModelId: "m3" }, "m1"],
  ["the agent's", { agentModelId: "m2", projectModelId: "m3" }, "m2"],
  ["the project's", { projectModelId: "m3" }, "m3"],
  ["the service's", {}, "default"],
])("chooses %s model where nobody nearer says one", (_, said, modelId) => {
  expect(chooseModel({ ...base, ...nobody, ...said }).modelId).toBe(modelId)
})
