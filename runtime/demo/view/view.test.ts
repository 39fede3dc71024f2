import { describe, expect, it } from "vitest"
import { filesIn, shownDiff } from "#runtime/demo/review.ts"
import { frameIn, type Seen } from "#runtime/demo/stream.ts"
import { evolveChild } from "#runtime/demo/view/child.ts"
import { lineOf, linesOf } from "#runtime/demo/view/clean.ts"
import { beginning, evolve, type Story } from "#runtime/demo/view/story.ts"
import { tellingOf, tellingOfChild } from "#runtime/demo/view/telling.ts"
import { noColours, treeOf } from "#runtime/demo/view/tree.ts"

const seen = (type: string, payload: Seen["payload"] = {}): Seen => ({ sequence: 1, type, payload })

const plan = seen("coordinator.work_plan", {
  subtasks: [
    { id: 11, title: "Keep", assignedAgent: "Ann", dependsOn: [] },
    { id: 12, title: "Show", assignedAgent: "Bob", dependsOn: [] },
    { id: 13, title: "Connect", assignedAgent: "Ann", dependsOn: [11, 12] },
  ],
})

const subtask = (state: string, subtaskId: number, more: object = {}): Seen =>
  seen(`subtask.${state}`, {
    ...{ subtaskId, status: state, childRunId: `child-${subtaskId}`, assignedAgent: "Ann", attempt: 1 },
    ...more,
  })

const storyOf = (...events: ReadonlyArray<Seen>): Story => events.reduce(evolve, beginning)

const drawn = (story: Story, width = 60): ReadonlyArray<string> =>
  treeOf(story, { elapsedMillis: 3_200, width, paint: noColours })

const lines = (story: Story, event: Seen): ReadonlyArray<string> => tellingOf(story, event).map(({ text }) => text)

describe("the tree", () => {
  it("shows who works on what, what is done, and what waits for what", () => {
    const working = storyOf(plan, subtask("assemble_ready", 11), subtask("running", 12, { assignedAgent: "Bob" }))
    const call = seen("tool.call", { toolName: "run_command", arguments: { command: "node --test" } })
    expect(drawn(evolveChild(working, "child-12", call))).toEqual([
      "⠹ Agents work on the subtasks 3 s, 4 events",
      "  ✔ 1 Keep       Ann",
      "  ⠹ 2 Show       Bob: run_command node --test",
      "  ·   3 Connect  after 2",
    ])
  })

  it("shows the next try of what was sent back, with who does it now", () => {
    const again = storyOf(
      plan,
      subtask("assemble_ready", 11),
      subtask("dispatched", 11, { attempt: 2, assignedAgent: "Eve" }),
    )
    expect(drawn(again)[1]).toBe("  ⠹ 1 Keep       Eve (try 2)")
    expect(drawn(storyOf(plan, subtask("rai_flagged", 12)))[2]).toBe("  ✖ 2 Show       Ann")
  })

  it("shows the stages after the work, of the last round only", () => {
    const gate = (gateKind: string) => seen("coordinator.assembly_review_requested", { gateKind })
    const rejected = storyOf(
      plan,
      seen("coordinator.assembly_started"),
      seen("coordinator.assembly_rai_started"),
      seen("coordinator.assembly_rai_completed", { raiSafetyFlagged: true, verdict: "revise" }),
    )
    expect(drawn(rejected).at(-1)).toBe("  ↩ Responsible AI")
    const reviewed = [
      seen("coordinator.assembly_started"),
      seen("coordinator.assembly_rai_completed", { raiSafetyFlagged: false, verdict: "green" }),
      gate("build-test"),
      seen("coordinator.assembly_gate_completed", { gateKind: "build-test", verdict: "approved", summary: "" }),
      gate("human-review"),
    ].reduce(evolve, rejected)
    expect(reviewed.inReview).toBe(true)
    expect(drawn(reviewed).at(-1)).toBe("  ✔ Responsible AI   ✔ Build & Test   ⠹ Review")
  })

  it("keeps to the width, whatever agents say", () => {
    const working = storyOf(plan, subtask("running", 11))
    const said = seen("agent.message", { content: "word ".repeat(100) })
    for (const line of drawn(evolveChild(working, "child-11", said), 50))
      expect([...line].length).toBeLessThanOrEqual(50)
  })

  it("ends for a plan that goes round in a circle", () => {
    const circle = seen("coordinator.work_plan", {
      subtasks: [
        { id: 1, title: "a", assignedAgent: "x", dependsOn: [2] },
        { id: 2, title: "b", assignedAgent: "x", dependsOn: [1] },
      ],
    })
    expect(drawn(storyOf(circle))).toHaveLength(3)
  })
})

describe("the story", () => {
  it.each([
    ["coordinator.assembly_completed", { commitHash: "c" }, { _tag: "Merged" }],
    ["coordinator.assembly_declined", { reviewer: "ann" }, { _tag: "Declined" }],
    ["run.failed", { message: "No key." }, { _tag: "Stuck", reason: "No key." }],
    [
      "coordinator.assembly_blocked",
      { reason: "build_test_infra_sandbox", detail: "No sandbox." },
      { _tag: "Stuck", reason: "build_test_infra_sandbox: No sandbox." },
    ],
  ])("ends with %s", (type, payload, end) => {
    expect(storyOf(plan, seen(type, payload)).end).toEqual(end)
  })

  it("leaves the review when work is sent back", () => {
    const inReview = storyOf(plan, seen("coordinator.assembly_review_requested", { gateKind: "human-review" }))
    expect(evolve(inReview, seen("coordinator.steering_decision", { subtaskIds: [11] })).inReview).toBe(false)
  })
})

describe("the lines", () => {
  it("tell the plan with what comes after what", () => {
    expect(lines(storyOf(plan), plan)).toEqual([
      "The plan has 3 subtasks:",
      "  1 Keep (Ann)",
      "  2 Show (Bob)",
      "  3 Connect (Ann, after 1, 2)",
    ])
  })

  it("tell what was sent back, and who does it once more", () => {
    const decision = seen("coordinator.steering_decision", {
      ...{ decision: "dispatch_fresh", rationale: "author_locked_out", subtaskIds: [12, 13] },
      assignments: [{ subtaskId: 12, assignedAgent: "Eve", lockedOutAgents: ["Bob"] }],
    })
    expect(lines(storyOf(plan, decision), decision)).toEqual([
      "Steering decides: dispatch_fresh, author_locked_out. Once more: Show (Eve), Connect (Ann)",
    ])
  })

  it("tell the commands of agents with how they ended, and what a person is asked", () => {
    const call = seen("tool.call", { toolName: "run_command", arguments: { command: "npm test" } })
    const story = evolveChild(storyOf(plan, subtask("running", 11)), "child-11", call)
    const ended = seen("tool.exec_result", { exit_code: 1 })
    expect(tellingOfChild(story, "child-11", ended)[0]?.text).toBe("  1 Keep: run_command npm test, exit code 1")
    expect(tellingOfChild(story, "child-12", ended)).toEqual([])
    const asked = tellingOfChild(story, "child-11", seen("shell.approval_required", { command: "rm -rf x" }))
    expect(asked[0]).toMatchObject({ text: expect.stringContaining("1 Keep waits for your answer"), inTree: false })
  })

  it("hold nothing that a terminal would obey", () => {
    const hostile = "\u001b[2Jgone\u0007\u009b31m \u202Ereversed\r\nnext"
    const payload = { source: hostile, feedback: hostile, subtaskIds: [], gateKind: hostile, summary: hostile }
    const told = ["coordinator.steering_received", "coordinator.assembly_gate_completed"].flatMap((type) =>
      lines(storyOf(plan), seen(type, payload)),
    )
    const titled = seen("coordinator.work_plan", {
      subtasks: [{ id: 1, title: hostile, assignedAgent: hostile, dependsOn: [] }],
    })
    const shown = [
      ...told,
      ...lines(storyOf(titled), titled),
      ...drawn(storyOf(titled)),
      ...shownDiff(`+${hostile}`, noColours),
    ]
    expect(shown.length).toBeGreaterThan(6)
    for (const line of shown) expect(line).not.toMatch(/[\p{Cc}\p{Cf}]/u)
  })

  it("are cut to their length", () => {
    expect(lineOf("  one\n two ", 20)).toBe("one two")
    expect(lineOf("123456", 4)).toBe("123…")
    expect(linesOf("a\n\tb")).toEqual(["a", "  b"])
  })
})

describe("a diff", () => {
  it("is counted by file, without its headers", () => {
    const diff = ["diff --git a/x b/x", "--- a/x", "+++ b/x", "@@ -1 +1,2 @@", "--- old", "+new", "+er"].join("\n")
    expect(filesIn(`${diff}\ndiff --git a/long b/long\n@@ -0,0 +1 @@\n+a`)).toEqual(["  x     +2 -1", "  long  +1 -0"])
  })

  it("that is long says how much of it is left out", () => {
    expect(shownDiff("+a\n".repeat(500), noColours).at(-1)).toBe("… 101 lines more")
  })
})

it("a frame is an event, the end, or nothing", () => {
  expect(frameIn('id: 7\nevent: run.failed\ndata: {"message":"x"}')).toEqual({
    ...{ sequence: 7, type: "run.failed", payload: { message: "x" } },
  })
  expect(frameIn("event: done\ndata: {}")).toBe("done")
  expect(frameIn(": alive")).toBeUndefined()
})
