/** Coordinator runs, from a goal to one merge, over HTTP: real children in real sandboxes, a model on the wire. */
import { expect, layer } from "@effect/vitest"
import { Effect } from "effect"
import { TestDatabase } from "#test/support/database.ts"
import { makeOrchestra, type Playing, resultsSince } from "#test/support/orchestra.ts"

/** Which part of the service asks: its system prompt tells. */
const purposeOf = (request: Parameters<Playing>[0]): "decompose" | "rai" | "agent" => {
  const system = String(request.body.messages?.[0]?.content ?? "")
  if (system.includes("responsible-AI reviewer")) return "rai"
  return request.body.tools === undefined || request.body.tools.length === 0 ? "decompose" : "agent"
}

const parts = [
  {
    title: "Write one",
    scope: "one.txt",
    role: "backend-engineer",
    complexity: "low",
    phase: "execution",
    isolation: "worktree",
    depends_on: [],
  },
  {
    title: "Write two",
    scope: "two.txt",
    role: "frontend-engineer",
    complexity: "low",
    phase: "execution",
    isolation: "worktree",
    depends_on: [],
  },
  {
    title: "Put together",
    scope: "all.txt",
    role: "qa-engineer",
    complexity: "low",
    phase: "validation",
    isolation: "worktree",
    depends_on: [1, 2],
  },
]

const commands: ReadonlyArray<readonly [title: string, command: string]> = [
  ["Write one", "echo one > one.txt"],
  ["Write two", "echo two > two.txt"],
  ["Put together", "cat one.txt two.txt > all.txt"],
]

/** A team in which everybody does the part that it was given. */
const team =
  (rai: (diff: string) => string): Playing =>
  (request) => {
    const text = JSON.stringify(request.body.messages)
    switch (purposeOf(request)) {
      case "decompose":
        return { text: JSON.stringify(parts) }
      case "rai":
        return { text: rai(text) }
      case "agent": {
        if (resultsSince(request) > 0) return { text: "Done." }
        const told = request.body.messages.find(({ role }: { role: string }) => role === "user")?.content ?? ""
        const command = commands.find(([title]) => JSON.stringify(told).includes(title))?.[1] ?? "true"
        return { calls: [{ name: "run_command", arguments: { command } }], finishReason: "tool_calls" }
      }
    }
  }

const build = ".svc/build.yml"
const checks = "commands:\n  - { name: test, run: test -s README.md }\n"

layer(TestDatabase.layer, { excludeTestServices: true, timeout: "90 seconds" })("an orchestration", (it) => {
  it.effect(
    "goes from a goal over parallel children to one reviewed merge",
    () =>
      Effect.gen(function* () {
        const { call, projectId, repository, until } = yield* makeOrchestra(
          team(() => "VERDICT: GREEN"),
          { files: { "README.md": "# One\n", [build]: checks } },
        )
        const started = yield* call("POST", `/api/projects/${projectId}/orchestrations`, { goal: "Write it all" })
        expect(started.status).toBe(201)
        const { runId } = started.body
        const types = yield* until(
          runId,
          "coordinator.assembly_failed",
          "coordinator.assembly_blocked",
          "run.failed",
          "review.requested",
        )
        expect(types).toContain("review.requested")
        const plan = yield* call("GET", `/api/runs/${runId}/work-plan`)
        expect(plan.body).toMatchObject({ status: "in_review", assemblyStage: "review" })
        const children = yield* call("GET", `/api/runs/${runId}/children`)
        expect(children.body).toHaveLength(3)
        const files = yield* call("GET", `/api/runs/${runId}/assembly/files`)
        expect(files.body.map(({ path }: { path: string }) => path)).toEqual(["all.txt", "one.txt", "two.txt"])
        const review = () => call("POST", `/api/runs/${runId}/assembly/review`, { approved: true })
        expect(yield* review()).toMatchObject({ status: 200, body: { accepted: true } })
        yield* until(runId, "coordinator.assembly_completed", "merge.completed", "run.failed")
        expect(repository.git("show", "main:all.txt")).toBe("one\ntwo")
        expect((yield* call("GET", `/api/runs/${runId}/explain`)).status).toBe(200)
        expect((yield* call("GET", `/api/runs/${runId}/graph`)).body.variant).toBe("coordinator")
      }),
    { timeout: 80_000 },
  )
})
