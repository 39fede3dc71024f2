import { expect, it } from "vitest"
import { selectWorkflow } from "#policies/workflow-select/question.ts"

const workflow = (id: string) => ({ id, name: id, description: "" })
const base = { runId: "run", projectId: null, goal: "", overrideId: null, defaultId: null }
const both = [workflow("a"), workflow("b")]

it.each([
  ["what was asked for", { overrideId: "b", defaultId: "a" }, both, "b", false],
  ["the project's own", { defaultId: "b" }, both, "b", true],
  ["the first where nothing is said", {}, both, "a", true],
  ["the project's own where what was asked for is not there", { overrideId: "x", defaultId: "b" }, both, "b", true],
  ["the first where neither is there", { overrideId: "x", defaultId: "y" }, both, "a", true],
] as const)("selects %s", (_, ask, available, selectedId, wasAutoSelected) => {
  expect(selectWorkflow({ ...base, ...ask, available })).toMatchObject({ selectedId, wasAutoSelected })
})
