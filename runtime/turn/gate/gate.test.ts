import { expect, layer } from "@effect/vitest"
import { Duration, Effect, Layer } from "effect"
import { EventLog } from "#core/event-log.ts"
import { Hooks, hooksOf, allowed as leave, refusedBecause } from "#core/hook.ts"
import type { SandboxStatus } from "#core/ports/sandbox.ts"
import { RunControl } from "#core/run/control.ts"
import { Runs } from "#core/run/runs.ts"
import { defaultPolicy, type SandboxPolicy } from "#core/sandbox-policy/policy.ts"
import { type Gate, makeGate } from "#runtime/turn/gate/gate.ts"
import type { GateRules } from "#runtime/turn/gate/run.ts"
import { commandHashOf } from "#runtime/turn/gate/shell.ts"
import { coreServices } from "#test/support/core-services.ts"

const isolated: SandboxStatus = { backend: "linux-bwrap", isRealIsolation: true, reason: "bubblewrap" }
const open: SandboxStatus = { backend: "passthrough-deny", isRealIsolation: false, reason: "Install bubblewrap." }

interface Setting extends Partial<Omit<GateRules, "policy">> {
  readonly policy?: Partial<SandboxPolicy>
  readonly parent?: string
  readonly autoApprove?: boolean
  /** What the plugins refuse. */
  readonly guard?: (question: string, input: unknown) => boolean
}

const over: GateRules["patience"] = { tool: Duration.zero, shell: Duration.zero, question: Duration.zero }
let calls = 0

/** A run with a gate before it, and what its log says. */
const gated = Effect.fnUntraced(function* ({ policy, parent, autoApprove, guard, ...rules }: Setting = {}) {
  const runs = yield* Runs
  const { runId } = yield* runs.create({
    projectId: null,
    submittedBy: "ada",
    agentName: "Writer",
    task: "write it",
    ...(parent === undefined ? {} : { parentRunId: parent }),
  })
  if (autoApprove === true) yield* (yield* RunControl).setAutoApprove(runId, true, "ada")
  const hooks = hooksOf((question, input) =>
    Effect.sync(() => (guard?.(question.name, input) === true ? refusedBecause("Not on Fridays.") : leave)),
  )
  const own = { runId, agentName: "Writer" }
  const gateWith = (changed: Partial<GateRules>, fence = 0) =>
    makeGate(
      {
        runId,
        fence,
        lineage: parent === undefined ? [own] : [{ runId: parent, agentName: "Coordinator" }, own],
      },
      {
        policy: { ...defaultPolicy, ...policy },
        shellOff: null,
        sandbox: isolated,
        withheldTools: [],
        ...rules,
        ...changed,
      },
    ).pipe(Effect.provideService(Hooks, hooks))
  const log = yield* EventLog
  const types = Effect.map(log.read(runId), (events) =>
    events.map(({ type }) => type).filter((type) => !/^run\.(?:started|auto)/.test(type)),
  )
  const payloads = (type: string) =>
    Effect.map(log.read(runId, { type }), (events) => events.map(({ payload }) => JSON.parse(payload)))
  return { runId, gateWith, gate: yield* gateWith({}), types, payloads }
})

const call = (toolName: string, input: unknown, callId = `call-${calls++}`) => ({ callId, toolName, arguments: input })
const shell = (command: string, callId?: string) => call("run_command", { command }, callId)
const fetch = (url: string, callId?: string) => call("web_fetch", { url, intention: "to read it" }, callId)
const tagOf = (gate: Gate, asked: ReturnType<typeof call>) => Effect.map(gate.permit(asked), ({ _tag }) => _tag)
const reasonOf = (gate: Gate, asked: ReturnType<typeof call>) =>
  Effect.map(gate.permit(asked), (verdict) => (verdict._tag === "Refused" ? verdict.reason : verdict._tag))
const requestOf = (verdict: { readonly _tag: string; readonly requestId?: string }) => verdict.requestId ?? verdict._tag

layer(Layer.provideMerge(Hooks.layerBuiltIn, coreServices()), { excludeTestServices: true, timeout: "60 seconds" })(
  "the gate",
  (it) => {
    it.effect("lets harmless calls pass, and asks nobody", () =>
      Effect.gen(function* () {
        const { gate, types } = yield* gated()
        expect(yield* tagOf(gate, shell("npm test"))).toBe("Allowed")
        expect(yield* tagOf(gate, call("read_file", { path: "a" }))).toBe("Allowed")
        expect(yield* types).toEqual([])
      }),
    )

    it.effect("refuses a tool that the agent does not have", () =>
      Effect.gen(function* () {
        const { gate } = yield* gated({ withheldTools: ["web_fetch", "run_command"] })
        expect(yield* reasonOf(gate, fetch("https://a.example"))).toContain("does not have the tool web_fetch")
        expect(yield* reasonOf(gate, shell("ls"))).toContain("does not have the tool run_command")
      }),
    )

    it.effect("refuses every command where the shell is off, and says so in the log once", () =>
      Effect.gen(function* () {
        for (const [setting, reason] of [
          [{ policy: { shellEnabled: false } }, /does not allow shell/],
          [{ sandbox: open }, /Install bubblewrap/],
          [{ shellOff: "The sandbox policy cannot be read." }, /cannot be read/],
        ] as const) {
          const { gate, types, payloads } = yield* gated({ ...setting, withheldTools: ["run_command"] })
          expect(yield* reasonOf(gate, shell("ls"))).toMatch(reason)
          expect(yield* tagOf(gate, shell("ls -l"))).toBe("Refused")
          expect(yield* types).toEqual(["run.degraded"])
          expect(yield* payloads("run.degraded")).toMatchObject([{ toolName: "run_command" }])
        }
        const { gate } = yield* gated({ sandbox: open, policy: { direct: true } })
        expect(yield* tagOf(gate, shell("ls"))).toBe("Allowed")
      }),
    )

    it.effect("refuses a command that is none", () =>
      Effect.gen(function* () {
        const { gate, types } = yield* gated()
        for (const input of [
          {},
          null,
          "ls",
          { command: 1 },
          { command: " " },
          { command: "a\0b" },
          { command: "x".repeat(65_537) },
        ]) {
          expect(yield* tagOf(gate, call("run_command", input))).toBe("Refused")
        }
        expect(yield* types).toEqual([])
      }),
    )

    it.effect("asks a person about a destructive command, and runs exactly what they approved, once", () =>
      Effect.gen(function* () {
        const { runId, gate, types, payloads } = yield* gated()
        const control = yield* RunControl
        const command = "rm -rf build"
        const first = yield* gate.permit(shell(command, "c1"))
        expect(first._tag).toBe("Waits")
        // looked at again, it is the same question
        expect(yield* gate.permit(shell(command, "c1"))).toEqual(first)
        const [asked] = yield* payloads("shell.approval_required")
        expect(asked).toMatchObject({
          request_id: requestOf(first),
          command_hash: commandHashOf(command),
          command_length: command.length,
          callId: "c1",
        })
        expect(asked.message).toContain("rm -rf")
        yield* control.approveShell(runId, asked.command_hash, "ada")
        expect(yield* tagOf(gate, shell(`${command} `, "c2"))).toBe("Waits")
        expect(yield* tagOf(gate, shell(command, "c1"))).toBe("Allowed")
        expect(yield* tagOf(gate, shell(command, "c3"))).toBe("Waits")
        expect((yield* types).filter((type) => type === "shell.approval_used")).toHaveLength(1)
      }),
    )

    it.effect("gives one approval to one of several that look at the same time", () =>
      Effect.gen(function* () {
        const { runId, gate } = yield* gated()
        const command = "git push --force"
        yield* gate.permit(shell(command, "c1"))
        yield* (yield* RunControl).approveShell(runId, commandHashOf(command), "ada")
        const verdicts = yield* Effect.forEach([1, 2, 3, 4], () => tagOf(gate, shell(command, "c1")), {
          concurrency: 4,
        })
        expect(verdicts.filter((tag) => tag === "Allowed")).toHaveLength(1)
      }),
    )

    it.effect("keeps to a refusal for the rest of the run, and for the runs below it", () =>
      Effect.gen(function* () {
        const parent = yield* gated()
        const command = "rm -rf build"
        yield* parent.gate.permit(shell(command))
        yield* (yield* RunControl).denyShell(parent.runId, commandHashOf(command), "ada")
        expect(yield* reasonOf(parent.gate, shell(command))).toContain("A person refused this command")
        const child = yield* gated({ parent: parent.runId })
        expect(yield* reasonOf(child.gate, shell(command))).toContain("A person refused")
        expect(yield* child.types).toEqual([])
      }),
    )

    it.effect("tells the parent of a child that waits, and takes the decision there", () =>
      Effect.gen(function* () {
        const parent = yield* gated()
        const child = yield* gated({ parent: parent.runId })
        const command = "rm -rf build"
        const waits = yield* child.gate.permit(shell(command, "c1"))
        expect(yield* parent.payloads("coordinator.child_approval_required")).toMatchObject([
          { childRunId: child.runId, requestId: requestOf(waits), toolName: "run_command" },
        ])
        const outcome = yield* (yield* RunControl).approveShell(parent.runId, commandHashOf(command), "ada")
        expect(outcome.runId).toBe(child.runId)
        expect(yield* tagOf(child.gate, shell(command, "c1"))).toBe("Allowed")
      }),
    )

    it.effect("asks about every command where the policy wants it so", () =>
      Effect.gen(function* () {
        const { gate } = yield* gated({ policy: { requireApprovalForAllShell: true } })
        expect(yield* tagOf(gate, shell("ls"))).toBe("Waits")
      }),
    )

    it.effect("lets plugins refuse before a person is asked", () =>
      Effect.gen(function* () {
        for (const question of ["tool.call", "command.run"]) {
          const { gate, types } = yield* gated({ guard: (name) => name === question })
          expect(yield* reasonOf(gate, shell("rm -rf build"))).toBe("Not on Fridays.")
          expect(yield* types).toEqual([])
        }
        const { gate } = yield* gated({ guard: (name) => name === "command.run" })
        expect(yield* tagOf(gate, call("read_file", {}))).toBe("Allowed")
      }),
    )

    it.effect("asks the policies by the rights of the runs above as well", () =>
      Effect.gen(function* () {
        const parent = yield* gated()
        const ofParent = (_: string, input: unknown) => (input as { readonly runId: string }).runId === parent.runId
        const { gate } = yield* gated({ parent: parent.runId, guard: ofParent })
        expect(yield* tagOf(gate, call("read_file", {}))).toBe("Refused")
      }),
    )

    it.effect("refuses what cannot be decided", () =>
      Effect.gen(function* () {
        const { gate } = yield* gated({
          guard: () => {
            throw new Error("broken")
          },
        })
        expect(yield* reasonOf(gate, shell("ls"))).toContain("could not be decided")
      }),
    )

    it.effect("asks about each address that is fetched", () =>
      Effect.gen(function* () {
        const { runId, gate, payloads } = yield* gated()
        const control = yield* RunControl
        const waits = yield* gate.permit(fetch("https://a.example/x#part", "c1"))
        expect(yield* payloads("tool.approval_required")).toMatchObject([
          { request_id: requestOf(waits), tool_name: "web_fetch", url: "https://a.example/x", intention: "to read it" },
        ])
        yield* control.approveTool(runId, requestOf(waits), "once", "ada")
        expect(yield* tagOf(gate, fetch("https://a.example/x", "c1"))).toBe("Allowed")
        // approved was that address for that call
        expect(yield* tagOf(gate, fetch("https://b.example/", "c1"))).toBe("Waits")
        expect(yield* tagOf(gate, fetch("https://a.example/x", "c2"))).toBe("Waits")
        for (const url of ["ftp://a.example", "file:///etc/passwd", "no address"]) {
          expect(yield* tagOf(gate, fetch(url))).toBe("Refused")
        }
      }),
    )

    it.effect("refuses an address that a person refused, whoever asks again", () =>
      Effect.gen(function* () {
        const { runId, gate } = yield* gated()
        const waits = yield* gate.permit(fetch("https://bad.example/"))
        yield* (yield* RunControl).denyTool(runId, requestOf(waits), "ada")
        expect(yield* reasonOf(gate, fetch("https://BAD.example"))).toContain("A person refused")
      }),
    )

    it.effect("fetches unasked where the run approves by itself, also what was asked for before", () =>
      Effect.gen(function* () {
        const { runId, gate, types, payloads } = yield* gated()
        yield* gate.permit(fetch("https://a.example/", "c1"))
        yield* (yield* RunControl).setAutoApprove(runId, true, "ada")
        expect(yield* tagOf(gate, fetch("https://a.example/", "c1"))).toBe("Allowed")
        expect(yield* types).toEqual(["tool.approval_required", "tool.approval_resolved", "tool.auto_approved"])
        expect(yield* payloads("tool.auto_approved")).toMatchObject([{ approvalSource: "auto_approve" }])
        // a shell command is no safe tool
        expect(yield* tagOf(gate, shell("rm -rf build"))).toBe("Waits")
      }),
    )

    it.effect("refuses what nobody decided in time, and says so in the log once", () =>
      Effect.gen(function* () {
        const { gate, gateWith, types } = yield* gated({ patience: over })
        for (const asked of [shell("rm -rf build", "c1"), fetch("https://a.example/", "c2")]) {
          expect(yield* tagOf(gate, asked)).toBe("Waits")
          expect(yield* reasonOf(gate, asked)).toContain("Nobody decided")
          expect(yield* reasonOf(gate, asked)).toContain("Nobody decided")
        }
        expect(yield* types).toEqual([
          "shell.approval_required",
          "tool.approval_resolved",
          "tool.approval_required",
          "tool.approval_resolved",
        ])
        // a later call may be asked about again
        const patient = yield* gateWith({ patience: {} })
        expect(yield* tagOf(patient, shell("rm -rf build", "c3"))).toBe("Waits")
      }),
    )

    it.effect("asks a question once, and gives its answer", () =>
      Effect.gen(function* () {
        const { runId, gate, types } = yield* gated()
        const waits = yield* gate.ask("q1", "Which?")
        expect(yield* gate.ask("q1", "Which?")).toEqual(waits)
        yield* (yield* RunControl).answer(runId, requestOf(waits), "this", "ada")
        expect(yield* gate.ask("q1", "Which?")).toEqual({ _tag: "Answered", answer: "this" })
        expect(yield* types).toEqual(["agent.question_asked", "agent.question_answered"])
      }),
    )

    it.effect("answers a question that nobody answered in time with nothing", () =>
      Effect.gen(function* () {
        const { gate, payloads } = yield* gated({ patience: over })
        const waits = yield* gate.ask("q1", "Which?")
        const nothing = { _tag: "Answered", answer: null } as const
        expect([yield* gate.ask("q1", "Which?"), yield* gate.ask("q1", "Which?")]).toEqual([nothing, nothing])
        expect(yield* payloads("agent.question_answered")).toEqual([
          { requestId: requestOf(waits), answer: null, timedOut: true },
        ])
      }),
    )

    it.effect("ends the turn of a worker that no longer has the run, and of a run that has ended", () =>
      Effect.gen(function* () {
        const { runId, gate, gateWith, types } = yield* gated()
        const late = yield* gateWith({}, 7)
        const lost = yield* Effect.flip(late.permit(shell("rm -rf build")))
        expect(lost.reason).toBe("lease_lost")
        expect((yield* Effect.flip(late.ask("q", "Which?"))).reason).toBe("lease_lost")
        expect(yield* types).toEqual([])
        yield* (yield* Runs).cancel(runId, { reason: "cancelled", by: "ada" })
        expect((yield* Effect.flip(gate.permit(shell("rm -rf build")))).reason).toBe("cancelled")
      }),
    )
  },
)
