import { Result } from "effect"
import { describe, expect, it } from "vitest"
import type { NewEvent } from "#core/event.ts"
import { decideAnswer, decideShell, decideTool, scopeOf } from "#core/run/control/decide.ts"
import { type ControlState, emptyState, fold } from "#core/run/control/state.ts"
import { autoApproves, type ControlView, verdict } from "#core/run/control/verdict.ts"
import {
  AutoApproveChanged,
  QuestionAnswered,
  QuestionAsked,
  type Scope,
  ShellApprovalGranted,
  ShellApprovalRequired,
  ShellApprovalUsed,
  ToolApprovalDenied,
  ToolApprovalGranted,
  ToolApprovalRequired,
  ToolApprovalResolved,
} from "#core/run/events/control.ts"

const noon = Date.parse("2026-01-01T12:00:00Z")
const later = "2026-01-01T12:05:00.000Z"
const earlier = "2026-01-01T11:55:00.000Z"

const told = (...events: ReadonlyArray<NewEvent>): ControlState => events.reduce(fold, emptyState)

const ask = (request_id: string, tool_name = "web_fetch", more: { url?: string; expires_at?: string } = {}) =>
  ToolApprovalRequired.of({ request_id, tool_name, ...more })
const grant = (request_id: string, scope: Scope = "once", tool_name = "web_fetch") =>
  ToolApprovalGranted.of({ request_id, tool_name, scope, granted_by: "ada" })
const deny = (request_id: string, tool_name = "web_fetch") =>
  ToolApprovalDenied.of({ request_id, tool_name, denied_by: "ada" })

const view = (own: ControlState, ...above: ReadonlyArray<ControlState>): ControlView => ({
  lineage: [own, ...above],
  carried: new Set(),
})
const fetchOf = (subject: string | null, toolName = "web_fetch") => ({ toolName, subject })

const said = <A>(result: Result.Result<A, { code: string; extra?: unknown }>) =>
  Result.match(result, { onFailure: ({ code, extra }) => ({ code, extra }), onSuccess: (value) => value as unknown })

describe("an approval", () => {
  it("allows the one request and nothing else by default", () => {
    const state = told(ask("q1"), grant("q1"))
    expect(state.tools.get("q1")?.state).toBe("approved")
    expect(verdict(view(state), fetchOf(null))._tag).toBe("Ask")
  })

  it.each(["run", "tool", "always"] as const)("with scope %s allows the tool in the run and its children", (scope) => {
    const parent = told(ask("q1"), grant("q1", scope))
    expect(verdict(view(parent), fetchOf("https://a"))._tag).toBe("Allowed")
    expect(verdict(view(emptyState, parent), fetchOf("https://a"))._tag).toBe("Allowed")
    expect(verdict(view(parent), fetchOf("https://a", "start_preview"))._tag).toBe("Ask")
  })

  it("with a scope that is not known is for once", () => {
    expect([scopeOf("forever"), scopeOf(undefined), scopeOf("ONCE"), scopeOf("run")]).toEqual([
      "once",
      "once",
      "once",
      "run",
    ])
  })

  it("does not pass from a child to its parent", () => {
    expect(verdict(view(emptyState), fetchOf(null))._tag).toBe("Ask")
    const child = told(ask("q1"), grant("q1", "run"))
    expect(verdict(view(emptyState, emptyState), fetchOf(null))._tag).toBe("Ask")
    expect(verdict(view(child, emptyState), fetchOf(null))._tag).toBe("Allowed")
  })

  it("loses to a refusal of the same thing, in the run and in every run above it", () => {
    const refused = told(ask("q1", "web_fetch", { url: "https://bad" }), deny("q1"))
    const allowed = told(ask("q2"), grant("q2", "always"))
    expect(verdict(view(allowed, refused), fetchOf("https://bad"))._tag).toBe("Denied")
    expect(verdict(view(refused, allowed), fetchOf("https://bad"))._tag).toBe("Denied")
    expect(verdict(view(allowed, refused), fetchOf("https://good"))._tag).toBe("Allowed")
  })

  it("counts once: the first decision in the log stands", () => {
    expect(told(ask("q1"), deny("q1"), grant("q1", "always")).tools.get("q1")?.state).toBe("denied")
    expect(told(ask("q1"), deny("q1"), grant("q1", "always")).allowed.size).toBe(0)
  })

  it("given twice gives the same answer and no second event", () => {
    const state = told(ask("q1"), grant("q1"))
    expect(said(decideTool(state, "q1", "approved", "once", "ada", noon))).toMatchObject({
      state: "approved",
      applied: false,
      events: [],
    })
  })

  it("against a decision that was made is refused with that decision", () => {
    expect(said(decideTool(told(ask("q1"), deny("q1")), "q1", "approved", "once", "ada", noon))).toEqual({
      code: "no_pending_approval",
      extra: { state: "denied" },
    })
  })

  it("for a request that was never made is unknown", () => {
    expect(said(decideTool(emptyState, "q9", "denied", "once", "ada", noon))).toEqual({
      code: "unknown_approval",
      extra: { state: "unknown" },
    })
  })

  it("comes too late after the request expired, and ends the wait", () => {
    const state = told(ask("q1", "web_fetch", { expires_at: earlier }))
    const decided = Result.getOrThrow(decideTool(state, "q1", "approved", "always", "ada", noon))
    expect(decided).toMatchObject({ state: "expired", applied: false })
    const expired = decided.events.reduce(fold, state)
    expect(expired.tools.get("q1")?.state).toBe("expired")
    expect(expired.allowed.size).toBe(0)
    expect(said(decideTool(expired, "q1", "approved", "once", "ada", noon))).toMatchObject({ state: "expired" })
  })

  it("in time is taken", () => {
    const state = told(ask("q1", "web_fetch", { expires_at: later }))
    expect(said(decideTool(state, "q1", "approved", "once", "ada", noon))).toMatchObject({ applied: true })
  })

  it("that was made in the pod counts like one made here", () => {
    const resolved = ToolApprovalResolved.of({ request_id: "q1", state: "denied", applied: true })
    expect(told(ask("q1"), resolved).tools.get("q1")?.state).toBe("denied")
  })
})

describe("auto-approve", () => {
  const switched = (enabled: boolean) => told(AutoApproveChanged.of({ enabled, changedBy: "ada" }))

  it("covers the safe tools and no other", () => {
    expect(verdict(view(switched(true)), fetchOf(null))).toEqual({ _tag: "Allowed", source: "auto_approve" })
    expect(verdict(view(switched(true)), fetchOf(null, "start_preview"))._tag).toBe("Allowed")
    expect(verdict(view(switched(true)), fetchOf(null, "run_command"))._tag).toBe("Ask")
  })

  it.each([
    [undefined, true, true],
    [undefined, false, false],
    [undefined, undefined, false],
    [false, true, false],
    [true, true, true],
    [true, false, false],
    [true, undefined, false],
  ])("of a child set to %s under a parent set to %s is %s", (own, parent, expected) => {
    const state = (value: boolean | undefined) => (value === undefined ? emptyState : switched(value))
    expect(autoApproves(view(state(own), state(parent)))).toBe(expected)
  })
})

describe("a shell approval", () => {
  const hash = "sha256:ABCDEF0123"
  const asked = ShellApprovalRequired.of({ request_id: "q1", command_length: 3, command_hash: hash, message: "?" })

  it("is found with or without the prefix", () => {
    for (const given of [hash, "abcdef0123"]) {
      expect(said(decideShell(told(asked), given, "approved", "ada", noon))).toMatchObject({ applied: true })
    }
  })

  it("is good for one use, and then has to be asked for again", () => {
    const granted = ShellApprovalGranted.of({ command_hash: hash, granted_by: "ada" })
    const used = ShellApprovalUsed.of({ command_hash: hash })
    expect(told(asked, granted).shell.get("abcdef0123")?.state).toBe("approved")
    expect(told(asked, granted, used).shell.get("abcdef0123")?.state).toBe("used")
    const after = told(asked, granted, used)
    expect(said(decideShell(after, hash, "approved", "ada", noon))).toMatchObject({ state: "approved", applied: false })
    expect(said(decideShell(after, hash, "denied", "ada", noon))).toMatchObject({ code: "no_pending_approval" })
    expect(told(asked, granted, used, asked).shell.get("abcdef0123")?.state).toBe("pending")
  })

  it("comes too late when the request is over, and can be asked for again", () => {
    const over = ToolApprovalResolved.of({
      request_id: "q1",
      tool_name: "run_command",
      state: "expired",
      applied: true,
    })
    expect(told(asked, over).shell.get("abcdef0123")?.state).toBe("expired")
    expect(said(decideShell(told(asked, over), hash, "approved", "ada", noon))).toMatchObject({
      extra: { state: "expired" },
    })
    const granted = ShellApprovalGranted.of({ command_hash: hash, granted_by: "ada" })
    expect(told(asked, granted, over).shell.get("abcdef0123")?.state).toBe("approved")
    expect(told(asked, over, asked).shell.get("abcdef0123")?.state).toBe("pending")
  })

  it("for a command that nobody asked for is refused", () => {
    expect(said(decideShell(emptyState, hash, "approved", "ada", noon))).toMatchObject({ code: "no_pending_approval" })
  })
})

describe("a question", () => {
  const asked = QuestionAsked.of({ requestId: "q1", question: "Which?", expiresAt: later })
  const answered = QuestionAnswered.of({ requestId: "q1", answer: "this", timedOut: false })

  it("is answered once", () => {
    expect(said(decideAnswer(told(asked), "q1", "this", "ada", noon))).toMatchObject({ events: [{}] })
    expect(said(decideAnswer(told(asked, answered), "q1", "this", "ada", noon))).toEqual({ events: [] })
    expect(said(decideAnswer(told(asked, answered), "q1", "that", "ada", noon))).toEqual({
      code: "no_pending_question",
      extra: { state: "answered" },
    })
  })

  it("that timed out takes no answer", () => {
    const timedOut = QuestionAnswered.of({ requestId: "q1", answer: null, timedOut: true })
    expect(said(decideAnswer(told(asked, timedOut), "q1", "this", "ada", noon))).toMatchObject({
      extra: { state: "expired" },
    })
  })

  it("that was never asked takes no answer", () => {
    expect(said(decideAnswer(emptyState, "q1", "this", "ada", noon))).toMatchObject({ extra: { state: "unknown" } })
  })
})

describe("the fold", () => {
  it("passes over a payload that does not have its shape", () => {
    expect(fold(emptyState, { type: "tool.approval_required", payload: '{"payload_truncated":true}' })).toBe(emptyState)
  })
})
