/** Decisions as the service records them, asked again: of the same policy, of its next version, and of one that breaks. */
import { mkdtemp, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Effect } from "effect"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { canonicalJson, sha256 } from "#core/canonical-json.ts"
import { PolicyDecision } from "#core/hook/events.ts"
import { toolCall } from "#policies/tool-call/question.ts"
import { backtest } from "#runtime/plugin-host/kit/backtest.ts"
import { buildPolicy } from "#runtime/plugin-host/kit/build.ts"
import { type Candidate, candidateOf } from "#runtime/plugin-host/kit/candidate.ts"
import { newPolicy } from "#runtime/plugin-host/kit/new-policy.ts"
import { type Decision, type Recorded, recordedInFile } from "#runtime/plugin-host/kit/recorded.ts"

const runId = "0b0c0d0e-0000-4000-8000-000000000001"

let folder: string
/** Refuses to write. */
let active: Candidate
/** Refuses to write and to read. */
let next: Candidate
/** Refuses to write, and breaks on a list. */
let broken: Candidate

const build = async (name: string, rules: string): Promise<Candidate> => {
  const path = join(folder, name, "path-guard")
  await Effect.runPromise(newPolicy(path, "tool.call", "ts"))
  await writeFile(
    join(path, "policy.ts"),
    `import type { Answer, Ask } from "./question.ts"
export const decide = ({ toolName }: Ask): Answer => {
  ${rules}
  return { decision: "allow" }
}
`,
  )
  const { found, admitted } = await Effect.runPromise(buildPolicy(path))
  return Effect.runPromise(candidateOf(found.manifest, admitted))
}

const refuses = (tool: string) => `if (toolName === "${tool}") return { decision: "refuse", reason: "Not here." }`

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "svc-backtest-"))
  active = await build("active", refuses("write_file"))
  next = await build("next", `${refuses("write_file")}\n${refuses("read_file")}`)
  broken = await build("broken", `${refuses("write_file")}\nif (toolName === "list") throw new Error("broken")`)
})
afterAll(() => rm(folder, { recursive: true, force: true }))

/** As the service writes it where this policy decided: a refusal bears its name. */
const decided = (by: Candidate, sequence: number, toolName: string, changes: Partial<Decision> = {}): Recorded => {
  const ask = { runId, calledBy: runId, agentName: "builder", callId: `call-${sequence}`, toolName, arguments: {} }
  const input = canonicalJson(ask)
  const reply = by.ask(toolCall, input)
  if (reply.kind !== "answered") throw new Error(`it has to answer: ${JSON.stringify(reply)}`)
  const answer: Readonly<Record<string, unknown>> = JSON.parse(reply.text)
  const decision: Decision = {
    question: "tool.call",
    kind: "guard",
    plugin: by.name,
    version: by.version,
    digest: by.digest,
    abi: by.abi,
    input: ask,
    input_hash: sha256(input),
    input_complete: true,
    answer: answer.decision === "refuse" ? { ...answer, policy: by.name } : answer,
    fuel: reply.fuel,
    duration_ms: 0.1,
    consulted: [],
    ...changes,
  }
  return { runId, sequence, decision }
}

/** Where nobody refused, the service is named, and the policy among those that were asked. */
const allowedBy = (by: Candidate, sequence: number, toolName: string): Recorded => {
  const { decision } = decided(by, sequence, toolName)
  const { version, digest, abi, answer, fuel, duration_ms } = decision
  const asked = { plugin: by.name, version, digest, abi, answer, fuel, duration_ms }
  return {
    runId,
    sequence,
    decision: { ...decision, plugin: "built-in", digest: null, abi: null, fuel: null, consulted: [asked] },
  }
}

const tools = ["write_file", "read_file", "list", "write_file"]
const recorded = () =>
  tools.map((tool, at) => (tool === "write_file" ? decided(active, at + 1, tool) : allowedBy(active, at + 1, tool)))

describe("a backtest", () => {
  it("finds nothing where the policy is the same", () => {
    expect(backtest(active, recorded())).toMatchObject({ asked: 4, agreed: 4, changes: [], refusalsChanged: 0 })
  })

  it("shows what the next version would refuse, the same twice", () => {
    const report = backtest(next, recorded())
    expect(report).toMatchObject({ asked: 4, agreed: 3, refusalsChanged: 1, faults: 0 })
    expect(report.changes).toMatchObject([
      {
        runId,
        sequence: 2,
        question: "tool.call",
        recorded: { decision: "allow" },
        candidate: { decision: "refuse", reason: "Not here." },
        refusal: true,
        fault: null,
      },
    ])
    expect(JSON.stringify(backtest(next, recorded()))).toBe(JSON.stringify(report))
  })

  it("counts a guard that breaks as one that refuses", () => {
    const report = backtest(broken, recorded())
    expect(report).toMatchObject({ faults: 1, refusalsChanged: 1 })
    expect(report.changes).toMatchObject([{ sequence: 3, fault: "policy_error: Error: broken" }])
  })

  it("asks nothing that was recorded in part, on another question, or in another form", () => {
    const records = [
      decided(active, 1, "list", { input_complete: false }),
      decided(active, 2, "list", { question: "command.run" }),
      decided(active, 3, "list", { input: { runId } }),
    ]
    expect(backtest(active, records)).toMatchObject({
      asked: 0,
      skipped: { incomplete: 1, otherQuestions: 1, otherForm: 1 },
    })
  })

  it("passes over what a candidate would not answer without input or output", () => {
    const calls: Candidate = { ...next, ask: (...asked) => ({ ...next.ask(...asked), io: 1 }) }
    expect(backtest(calls, recorded())).toMatchObject({ asked: 0, changes: [], skipped: { withIo: 4 } })
  })

  it("reads an export, one event a line", async () => {
    const file = join(folder, "events.jsonl")
    const events = [
      { runId, sequence: 1, type: "run.started", timestamp: "2026-01-01T00:00:00.000Z", payload: {} },
      ...recorded().map(({ sequence, decision }) => ({
        runId,
        sequence: sequence + 1,
        type: PolicyDecision.type,
        timestamp: "2026-01-01T00:00:00.000Z",
        payload: JSON.parse(PolicyDecision.of(decision).payload),
      })),
    ]
    await writeFile(file, events.map((event) => JSON.stringify(event)).join("\n"))
    const records = await Effect.runPromise(recordedInFile(file))
    expect(records.map(({ sequence }) => sequence)).toEqual([2, 3, 4, 5])
    expect(backtest(active, records)).toMatchObject({ asked: 4, agreed: 4 })
    await writeFile(file, "{\n")
    expect((await Effect.runPromise(Effect.flip(recordedInFile(file)))).message).toMatch(/events\.jsonl, line 1/)
  })
})
