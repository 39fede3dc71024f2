import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { Schema } from "effect"
import { describe, expect, it } from "vitest"
import { alwaysClosed, questionSchema } from "#core/hook.ts"
import { notYetAsked, questionNamed, questions, questionsByKey } from "#policies/questions.ts"

const kinds = {
  "steering.decide": "decide",
  "rai.review": "decide",
  "assembly.gate": "guard",
  "tool.call": "guard",
  "command.run": "guard",
  "preview.publish": "guard",
  "review.accept": "guard",
  "skill.import": "guard",
  "workflow.select": "decide",
  "model.choose": "decide",
  "agent.context": "refine",
  "edge.request": "guard",
} as const

describe("the questions", () => {
  it("are twelve, each of its kind", () => {
    expect(Object.fromEntries(questions.map(({ name, kind }) => [name, kind]))).toEqual(kinds)
  })

  it("are all asked by this version, but for those that it says are not yet", () => {
    const written = ["core", "gateway", "runtime", "policies"].flatMap((folder) =>
      readdirSync(folder, { recursive: true, encoding: "utf8" })
        .filter((name) => name.endsWith(".ts") && !name.endsWith(".test.ts"))
        .map((name) => readFileSync(join(folder, name), "utf8")),
    )
    const used = (key: string) => written.some((text) => new RegExp(`(?:ask|permit)\\(\\s*${key},`).test(text))
    const idle = Object.entries(questionsByKey).filter(([key]) => !used(key))
    expect(idle.map(([, { name }]) => name)).toEqual(notYetAsked)
  })

  it("fail closed where they guard, and where the responsible-AI pass decides", () => {
    const closed = questions.filter(alwaysClosed).map(({ name }) => name)
    expect(closed).toEqual(
      questions.filter(({ kind, name }) => kind === "guard" || name === "rai.review").map((q) => q.name),
    )
  })

  it("have one built-in answer to one question, of the form they declare", () => {
    for (const question of questions) {
      const ask = Schema.decodeUnknownSync(question.ask)(examples[question.name])
      const answer = question.builtIn(ask)
      expect(question.builtIn(ask)).toEqual(answer)
      expect(Schema.is(question.answer)(answer), question.name).toBe(true)
      if (question.kind === "guard") expect(answer).toEqual({ decision: "allow" })
    }
  })

  it.each(questions.map(({ name }) => name))("publish both sides of %s as JSON Schema", (name) => {
    const question = questionNamed(name)
    if (question === undefined) throw new Error("it is in the list")
    const { ask, answer } = questionSchema(question)
    for (const side of [ask, answer]) {
      expect(side.$schema).toBe("https://json-schema.org/draft/2020-12/schema")
      const text = JSON.stringify(side)
      for (const [, definition = ""] of text.matchAll(/"#\/\$defs\/([^"]+)"/g)) {
        expect(side.$defs).toHaveProperty([definition])
      }
    }
    expect(JSON.parse(JSON.stringify(ask))).toEqual(ask)
  })
})

const file = { path: "a.ts", status: "added", addedLines: 1, removedLines: 0 }
const runId = "6f2c7a52-3a52-4a0c-9c1f-3f3f0c5b1a01"
const examples: Record<string, unknown> = {
  "steering.decide": {
    signal: {
      coordinatorRunId: runId,
      source: "rai",
      targetScope: { kind: "run" },
      feedback: "",
      severity: "blocking",
      verb: "redirect",
      treeHash: null,
      targetFiles: null,
      createdBy: "rai",
    },
    plan: { workPlanId: 1, status: "assembling", reviewGateArmed: false, subtasks: [], dependencies: [] },
    budgets: { recoveryAttemptsPerSubtask: 3, steeringIterationsPerPlan: 6, steeringIterationsUsed: 0 },
  },
  "rai.review": { runId, workPlanId: null, treeHash: null, files: [file], diff: "", replies: [] },
  "assembly.gate": {
    runId,
    workPlanId: 1,
    integrationBranch: "svc/integration/x",
    treeHash: null,
    files: [file],
    diff: "",
  },
  "tool.call": {
    runId,
    calledBy: runId,
    agentName: "Writer",
    callId: "1",
    toolName: "read_file",
    arguments: { path: "a" },
  },
  "command.run": {
    runId,
    agentName: "Writer",
    callId: "1",
    command: "ls",
    commandHash: "sha256:00",
    workingDirectory: ".",
  },
  "preview.publish": {
    runId,
    projectId: null,
    workPlanId: null,
    treeHash: null,
    targetPort: 3000,
    source: "build-test",
    requestedBy: "ada",
    lifetimeMinutes: 60,
  },
  "review.accept": {
    runId,
    projectId: null,
    scope: "run",
    reviewer: "ada",
    submittedBy: "bob",
    treeHash: null,
    targetBranch: "main",
    files: ["a.ts"],
  },
  "skill.import": {
    projectId: null,
    importedBy: "ada",
    name: "sql",
    source: { kind: "upload", address: null, commit: null },
    contentHash: "sha256:00",
    content: "# sql",
    files: [],
  },
  "workflow.select": {
    runId,
    projectId: null,
    goal: "",
    overrideId: null,
    defaultId: null,
    available: [{ id: "a", name: "a", description: "" }],
  },
  "model.choose": {
    runId,
    projectId: null,
    agentName: "Writer",
    subtask: null,
    requestedModelId: null,
    agentModelId: null,
    projectModelId: null,
    defaultModelId: "m",
  },
  "agent.context": {
    runId,
    projectId: null,
    agentName: "Writer",
    task: "",
    sections: [{ id: "a", title: "A", text: "" }],
  },
  "edge.request": {
    surface: "http",
    method: "GET",
    host: "localhost",
    path: "/api/ping",
    route: "/api/ping",
    subject: null,
    remoteAddress: null,
  },
}
