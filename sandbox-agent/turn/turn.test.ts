/** The turn engine in a scripted world: what it tells, what it stores, and how it goes on. */
import { readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { it as effectIt } from "@effect/vitest"
import { Deferred, Effect, Fiber, Schema } from "effect"
import { TestClock } from "effect/testing"
import { describe, expect, it } from "vitest"
import { RunBounded, RunDegraded, RunOutcome } from "#core/run/events/run.ts"
import * as turnEvents from "#core/run/events/turn.ts"
import { ModelFailed, type ModelPart, type ModelRequest } from "#core/wire/model.ts"
import { CommandRefused, type TurnRequest } from "#core/wire/turn.ts"
import { runTurn } from "#sandbox-agent/turn/turn.ts"
import {
  callTools,
  emptyStore,
  finish,
  makeWorld,
  ranWell,
  request,
  type Store,
  say,
  script,
  type WorldOptions,
} from "#test/fakes/turn-world.ts"
import { temporaryFolder } from "#test/support/temporary-folder.ts"

const schemas = new Map(
  [...Object.values(turnEvents), RunBounded, RunOutcome, RunDegraded].map((event) => [event.type, event.payload]),
)

/** Runs a turn, and checks that everything it tells has the shape that the service declares. */
const run = async (store: Store, options: WorldOptions, overrides: Partial<TurnRequest> = {}) => {
  const workingDirectory = overrides.workingDirectory ?? (await temporaryFolder())
  const { world } = makeWorld(store, options)
  const exit = await Effect.runPromise(Effect.result(runTurn(request({ ...overrides, workingDirectory }), world)))
  for (const { type, payload } of store.events) {
    const schema = schemas.get(type)
    if (schema === undefined) throw new Error(`${type} is not declared`)
    Schema.decodeUnknownSync(schema, { onExcessProperty: "error" })(payload)
  }
  return exit
}

const outcomeOf = async (store: Store, options: WorldOptions, overrides: Partial<TurnRequest> = {}) => {
  const result = await run(store, options, overrides)
  if (result._tag === "Failure") throw result.failure
  return result.success
}

const types = (store: Store) => store.events.map(({ type }) => type)
const payloads = (store: Store, type: string) =>
  store.events.filter((event) => event.type === type).map(({ payload }) => payload)
const results = (store: Store) => store.entries.filter((entry) => entry.kind === "call_result")

describe("a turn", () => {
  it("hears between two answers what it is told, and goes on where that was after its last word", async () => {
    const store = emptyStore()
    const told = [["Use tabs."], [], ["And a test."], []]
    const outcome = await outcomeOf(store, {
      model: script(callTools(["report_intent", { intent: "write" }]), say("Done."), say("Now with a test.")),
      told: () => told.shift() ?? [],
    })
    expect(outcome).toMatchObject({ _tag: "Finished", message: "Now with a test." })
    const heard = store.requests.map(({ messages }) =>
      messages.flatMap((message) => (message.role === "user" ? [message.text] : [])),
    )
    expect(heard).toEqual([
      ["Write the file.", "Use tabs."],
      ["Write the file.", "Use tabs."],
      ["Write the file.", "Use tabs.", "And a test."],
    ])
  })

  it("asks, carries out the calls, and ends with the last word of the agent", async () => {
    const store = emptyStore()
    const workingDirectory = await temporaryFolder()
    const outcome = await outcomeOf(
      store,
      {
        model: script(
          callTools(["report_intent", { intent: "write\nit" }], ["write_file", { path: "a/b.txt", content: "hello" }]),
          callTools(
            ["run_command", { command: "cat a/b.txt" }],
            ["report_outcome", { achieved: true, reason: "it is there" }],
          ),
          say("All done."),
        ),
      },
      { workingDirectory },
    )
    expect(outcome).toEqual({
      _tag: "Finished",
      steps: 3,
      message: "All done.",
      outcome: { achieved: true, reason: "it is there" },
    })
    expect(readFileSync(join(workingDirectory, "a/b.txt"), "utf8")).toBe("hello")
    expect(types(store)).toEqual([
      "agent.tools",
      ...["agent.turn.start", "agent.system_prompt", "agent.runtime_context", "agent.turn.usage"],
      ...["tool.call", "tool.call", "agent.intent", "tool.result", "tool.result", "agent.turn.end"],
      ...["agent.turn.start", "agent.system_prompt", "agent.runtime_context", "agent.turn.usage"],
      ...["tool.call", "tool.exec_result", "tool.result", "run.outcome", "agent.turn.end"],
      ...["agent.turn.start", "agent.system_prompt", "agent.runtime_context"],
      ...["agent.message.delta", "agent.message", "agent.turn.usage", "agent.turn.end"],
    ])
    expect(payloads(store, "agent.intent")).toEqual([{ intent: "write it" }])
    expect(payloads(store, "tool.result").at(-1)).toEqual({
      callId: "call-1-0",
      content: "stdout:\nfine\nstderr:\n\nexit_code: 0",
    })
  })

  it("tells sizes of the prompt, and never the prompt", async () => {
    const store = emptyStore()
    await outcomeOf(
      store,
      { model: script(say("Hi.")) },
      { systemPrompt: "CANARY-1", runContext: "CANARY-2", skillContext: "CANARY-3" },
    )
    expect(JSON.stringify(store.events)).not.toContain("CANARY")
    expect(store.requests[0]?.system).toBe("CANARY-1\n\nCANARY-2\n\nCANARY-3")
    const sizes = payloads(store, "agent.runtime_context")[0] as Record<string, number>
    const {
      baseCharacters,
      runContextCharacters,
      skillCharacters,
      separatorCharacters,
      taskCharacters,
      toolDeclarationCharacters,
    } = sizes
    expect([baseCharacters, runContextCharacters, skillCharacters, separatorCharacters, taskCharacters]).toEqual([
      8, 8, 8, 4, 15,
    ])
    expect(sizes.totalCharacters).toBe(8 + 8 + 8 + 4 + 15 + (toolDeclarationCharacters ?? 0))
    expect(sizes.estimatedTokens).toBe(Math.ceil((sizes.totalCharacters ?? 0) / 4))
  })

  it("does not offer what is withheld, and refuses it when it is called", async () => {
    const store = emptyStore()
    const model = script(callTools(["run_command", { command: "id" }]), say("No shell."))
    await outcomeOf(store, { model }, { withheldTools: ["run_command"] })
    expect(store.requests[0]?.tools.map(({ name }) => name)).not.toContain("run_command")
    expect(results(store)).toMatchObject([{ isError: true, text: expect.stringContaining("There is no tool") }])
    expect(store.effects).toEqual([])
  })

  it("tells nothing of suppressed tools but what they report", async () => {
    const store = emptyStore()
    const model = script(
      callTools(["glob", { pattern: "*" }], ["report_outcome", { achieved: false, reason: "stuck" }]),
      say("Stuck."),
    )
    const outcome = await outcomeOf(store, { model })
    expect(types(store).filter((type) => type.startsWith("tool."))).toEqual([])
    expect(payloads(store, "run.outcome")).toEqual([{ achieved: false, reason: "stuck" }])
    expect(outcome).toMatchObject({ outcome: { achieved: false, reason: "stuck" } })
  })

  it("gives calls with the same id ids of their own", async () => {
    const store = emptyStore()
    const twice = callTools(["run_command", { command: "a" }])
    const model = script(
      (asked) => twice({ ...asked, labels: { ...asked.labels, step: 0 } }),
      (asked) => twice({ ...asked, labels: { ...asked.labels, step: 0 } }),
    )
    await outcomeOf(store, { model })
    expect(store.effects).toEqual(["call-0-0", "call-0-0-2"])
  })

  it("sends back no name and no id that a provider would refuse", async () => {
    const store = emptyStore()
    const names = ["functions.read_file", "", "n".repeat(200), "read file\n"]
    const calls = names.map(
      (toolName): ModelPart => ({ kind: "call", call: { callId: "a.b:".repeat(40), toolName, arguments: "{}" } }),
    )
    await outcomeOf(store, { model: script([...calls, finish("tool_calls")], say("I see.")) })
    const sent = store.requests[1]?.messages.flatMap((message) => (message.role === "assistant" ? message.calls : []))
    expect(sent?.map(({ toolName }) => toolName)).toEqual([
      "functions_read_file",
      "unknown",
      "n".repeat(64),
      "read_file_",
    ])
    expect(sent?.every(({ callId }) => /^[a-zA-Z0-9_-]{1,64}$/.test(callId))).toBe(true)
    expect(new Set(sent?.map(({ callId }) => callId)).size).toBe(4)
  })
})

describe("calls that do not go well", () => {
  it("tells the model what is wrong with its arguments, with paths, and lets it try again", async () => {
    const store = emptyStore()
    const model = script(
      callTools(
        ["read_file", { path: 7, start_line: 0 }],
        ["write_file", "{not json"],
        ["read_file", "[1]"],
        ["no_such_tool", {}],
        ["read_file", `${'{"a":'.repeat(70)}1${"}".repeat(70)}`],
      ),
      say("I see."),
    )
    await outcomeOf(store, { model })
    const texts = results(store).map(({ text }) => text)
    expect(texts[0]).toContain("- path: ")
    expect(texts[0]).toContain("- start_line: ")
    expect(texts[1]).toContain("no JSON")
    expect(texts[2]).toContain("no JSON object")
    expect(texts[3]).toContain("run_command, read_file")
    expect(texts[4]).toContain("levels")
    expect(results(store).every(({ isError }) => isError)).toBe(true)
    expect(payloads(store, "tool.error")).toHaveLength(5)
    // what the provider gets back is JSON, whatever the model wrote
    const sent = store.requests[1]?.messages.flatMap((message) => (message.role === "assistant" ? message.calls : []))
    expect(sent?.map((call) => typeof JSON.parse(call.arguments))).toEqual(Array(5).fill("object"))
  })

  it("goes on after a refusal, and after a command that the sandbox does not run", async () => {
    const store = emptyStore()
    const model = script(
      callTools(["run_command", { command: "rm -rf /" }], ["run_command", { command: "ls" }]),
      say("Well."),
    )
    const outcome = await outcomeOf(store, {
      model,
      permit: ({ callId }) =>
        callId === "call-0-0" ? { _tag: "Refused", reason: "destructive" } : { _tag: "Allowed" },
      command: () => Effect.fail(new CommandRefused({ reason: "there is no isolation" })),
    })
    expect(outcome._tag).toBe("Finished")
    expect(results(store).map(({ text }) => text)).toEqual(["Refused: destructive", "there is no isolation"])
    expect(payloads(store, "tool.exec_result")).toEqual(
      Array(2).fill({ exit_code: -1, timed_out: false, output_truncated: false }),
    )
    expect(payloads(store, "run.degraded")).toEqual([{ toolName: "run_command", reason: "there is no isolation" }])
  })

  it("says so when the same call fails for the third time", async () => {
    const store = emptyStore()
    const again = callTools(["read_file", { path: "missing" }])
    await outcomeOf(store, { model: script(again, again, again, again, say("I give up.")) })
    expect(results(store).map(({ text }) => /for the (\d)th time/.exec(text)?.[1])).toEqual([
      undefined,
      undefined,
      "3",
      "4",
    ])
  })

  it("tells nobody's answer as such", async () => {
    const store = emptyStore()
    const model = script(callTools(["ask_question", { question: "Which?" }]), say("Then so."))
    await outcomeOf(store, { model, ask: () => ({ _tag: "Answered", answer: null }) })
    expect(results(store)[0]).toMatchObject({ isError: false, text: expect.stringContaining("Nobody answered") })
  })
})

describe("bounds", () => {
  it("stops after so many steps and keeps the work", async () => {
    const store = emptyStore()
    const outcome = await outcomeOf(
      store,
      { model: callTools(["run_command", { command: "again" }]) },
      { bounds: { maxSteps: 3, maxMinutes: 10 } },
    )
    expect(outcome).toEqual({ _tag: "Bounded", steps: 3, limit: "max_steps" })
    expect(payloads(store, "run.bounded")).toEqual([{ limit_type: "max_steps", step_count: 3 }])
    expect(store.effects).toHaveLength(3)
  })

  effectIt.effect("stops when the time is up, also within a command", () =>
    Effect.gen(function* () {
      const store = emptyStore()
      const started = yield* Deferred.make<void>()
      const { world } = makeWorld(store, {
        model: callTools(["run_command", { command: "sleep 1000" }]),
        command: () => Effect.andThen(Deferred.succeed(started, undefined), Effect.never),
      })
      const running = yield* Effect.forkChild(runTurn(request({ workingDirectory: "/" }), world))
      yield* Deferred.await(started)
      yield* TestClock.adjust("10 minutes")
      expect(yield* Fiber.join(running)).toEqual({ _tag: "Bounded", steps: 1, limit: "max_minutes" })
      expect(types(store).at(-1)).toBe("run.bounded")
    }),
  )
})

describe("the answers of a model", () => {
  it("asks once to go on where one was cut", async () => {
    const store = emptyStore()
    const cut = [{ kind: "text", delta: "The first half" } as const, finish("length")]
    const outcome = await outcomeOf(store, { model: script(cut, cut, say("never asked")) })
    expect(outcome).toMatchObject({ _tag: "Finished", steps: 2 })
    expect(store.requests[1]?.messages.map(({ role }) => role)).toEqual(["user", "assistant", "user"])
  })

  it("fails where the provider's filter stopped it, and where the provider fails", async () => {
    const filtered = await run(emptyStore(), { model: script([finish("content_filter")]) })
    expect(filtered).toMatchObject({ _tag: "Failure", failure: { _tag: "ModelFailed", kind: "Refused" } })
    const failure = new ModelFailed({ kind: "RateLimited", message: "later", retryable: true })
    const limited = emptyStore()
    expect(await run(limited, { model: script(failure) })).toMatchObject({ failure: { kind: "RateLimited" } })
    expect(types(limited).at(-1)).toBe("agent.turn.end")
    const broken = await run(emptyStore(), { model: () => [{ kind: "text", delta: "half an ans" }] })
    expect(broken).toMatchObject({ failure: { kind: "ProviderUnavailable", retryable: true } })
  })

  it("are given up where they do not end, or call without end", async () => {
    const page = { kind: "text", delta: "x".repeat(65_536) } as const
    const [call = page] = callTools(["report_intent", { intent: "again" }])({ labels: { step: 0 } } as ModelRequest)
    for (const [parts, words] of [
      [Array(17).fill(page), "1048576 characters"],
      [Array(257).fill(call), "256 calls"],
    ] as const) {
      const store = emptyStore()
      expect(await run(store, { model: script([...parts, finish()]) })).toMatchObject({
        failure: { kind: "ProviderUnavailable", retryable: false, message: expect.stringContaining(words) },
      })
      expect(store.entries.some(({ kind }) => kind === "call_started")).toBe(false)
      expect(types(store).at(-1)).toBe("agent.turn.end")
    }
  })
})

describe("secrets", () => {
  const redact = (text: string) => text.replace(/sk-[A-Za-z0-9]{8,}/g, "[redacted]")
  const secret = "sk-abcdefgh12345678"

  it("are neither told nor stored, wherever a model or a tool writes them", async () => {
    const store = emptyStore()
    const workingDirectory = await temporaryFolder()
    writeFileSync(join(workingDirectory, "env"), `KEY=${secret}`)
    const deltas = [...`The key is ${secret} and that is all there is to say about it.`].map((delta) => ({
      kind: "text" as const,
      delta,
    }))
    const commands: Array<string> = []
    await outcomeOf(
      store,
      {
        redact,
        model: script(
          callTools(
            ["read_file", { path: "env" }],
            ["run_command", { command: `curl -H ${secret}` }],
            ["report_intent", { intent: secret }],
            ["ask_question", { question: `is it ${secret}?` }],
            [secret, { [secret]: 1 }],
            ["write_file", `{"path": "x", broken ${secret}`],
          ),
          [...deltas, finish()],
        ),
        command: ({ command }) =>
          Effect.sync(() => {
            commands.push(command)
            return { ...ranWell, stdout: secret }
          }),
        ask: (question) => ({ _tag: "Answered", answer: `${question} ${secret}` }),
      },
      { task: `Use ${secret}.`, workingDirectory },
    )
    expect(JSON.stringify([store.events, store.entries])).not.toContain(secret)
    // and yet the command was what the model wrote
    expect(commands).toEqual([`curl -H ${secret}`])
    const said = payloads(store, "agent.message.delta").map((payload) => (payload as { delta: string }).delta)
    expect(said.length).toBeGreaterThan(0)
    expect(said.join("")).toBe("The key is [redacted] and that is all there is to say about it.")
  })

  it("are not waited with: such a call is refused", async () => {
    const store = emptyStore()
    const model = script(callTools(["run_command", { command: `curl ${secret}` }]), say("Another way."))
    const outcome = await outcomeOf(store, { redact, model, permit: () => ({ _tag: "Waits", requestId: "r" }) })
    expect(outcome._tag).toBe("Finished")
    expect(results(store)[0]?.isError).toBe(true)
  })

  it("make a call that a lost worker left one that is not made", async () => {
    const store = emptyStore()
    const model = script(callTools(["run_command", { command: `curl ${secret}` }]), say("Another way."))
    const { world } = makeWorld(store, {
      redact,
      model,
      permit: () => {
        throw new Error("the worker is lost")
      },
    })
    const workingDirectory = await temporaryFolder()
    await Effect.runPromiseExit(runTurn(request({ workingDirectory }), world))
    const outcome = await outcomeOf(store, { redact, model }, { workingDirectory, resumes: true })
    expect(outcome._tag).toBe("Finished")
    expect(store.effects).toEqual([])
    expect(results(store)[0]).toMatchObject({ isError: true, text: expect.stringContaining("worker was lost") })
  })
})

describe("a turn that waits for a person", () => {
  it("stops at the first call that waits, and goes on where they decided", async () => {
    const store = emptyStore()
    const model = script(
      callTools(
        ["run_command", { command: "a" }],
        ["run_command", { command: "b" }],
        ["run_command", { command: "c" }],
      ),
      say("Done."),
    )
    const workingDirectory = await temporaryFolder()
    const waits = await outcomeOf(
      store,
      {
        model,
        permit: ({ callId }) => (callId === "call-0-1" ? { _tag: "Waits", requestId: "r-1" } : { _tag: "Allowed" }),
      },
      { workingDirectory },
    )
    expect(waits).toEqual({ _tag: "Waiting", steps: 1, requestIds: ["r-1"] })
    expect(store.effects).toEqual(["call-0-0"])
    const refused = (callId: string) => callId === "call-0-1"
    const after = await outcomeOf(
      store,
      { model, permit: ({ callId }) => (refused(callId) ? { _tag: "Refused", reason: "no" } : { _tag: "Allowed" }) },
      { workingDirectory, resumes: true },
    )
    expect(after).toMatchObject({ _tag: "Finished", steps: 2 })
    expect(store.effects).toEqual(["call-0-0", "call-0-2"])
    expect(payloads(store, "tool.call")).toHaveLength(3)
    expect(payloads(store, "agent.turn.start")).toEqual([{ turnId: "turn-1" }, { turnId: "turn-2" }])
    expect(payloads(store, "agent.turn.end")).toEqual([{ turnId: "turn-1" }, { turnId: "turn-2" }])
    expect(store.entries.filter((entry) => entry.kind === "message" && entry.message.role === "user")).toHaveLength(1)
  })

  it("waits in a question and in a tool of the service, which are called again", async () => {
    const store = emptyStore()
    let decided = false
    const tool = {
      name: "start_preview",
      description: "",
      inputSchema: {},
      call: () =>
        Effect.sync(() =>
          decided ? ({ _tag: "Done", text: "up" } as const) : ({ _tag: "Waits", requestId: "p" } as const),
        ),
    }
    const options: WorldOptions = {
      tools: [tool],
      model: script(callTools(["start_preview", { port: 3000 }], ["ask_question", { question: "ok?" }]), say("Done.")),
      ask: () => (decided ? { _tag: "Answered", answer: "fine" } : { _tag: "Waits", requestId: "q" }),
    }
    const workingDirectory = await temporaryFolder()
    expect(await outcomeOf(store, options, { workingDirectory })).toMatchObject({ requestIds: ["p"] })
    decided = true
    expect(await outcomeOf(store, options, { workingDirectory, resumes: true })).toMatchObject({ _tag: "Finished" })
    expect(results(store).map(({ text }) => text)).toEqual(["up", "fine"])
  })
})

describe("a revision", () => {
  it("is told once, after the work before it", async () => {
    const store = emptyStore()
    const workingDirectory = await temporaryFolder()
    const model = script(say("First."), say("Second."))
    await outcomeOf(store, { model }, { workingDirectory })
    const second = await outcomeOf(store, { model }, { workingDirectory, task: "Make it better.", resumes: true })
    expect(second).toMatchObject({ message: "Second.", steps: 1 })
    expect(store.requests[1]?.messages).toEqual([
      { role: "user", text: "Write the file." },
      { role: "assistant", text: "First.", calls: [] },
      { role: "user", text: "Make it better." },
    ])
    expect(payloads(store, "agent.tools")).toHaveLength(1)
  })

  it("takes the place of calls that were still to be made", async () => {
    const store = emptyStore()
    const workingDirectory = await temporaryFolder()
    const model = script(callTools(["run_command", { command: "a" }]), say("Changed."))
    await outcomeOf(store, { model, permit: () => ({ _tag: "Waits", requestId: "r" }) }, { workingDirectory })
    const outcome = await outcomeOf(store, { model }, { workingDirectory, task: "Rather this.", resumes: true })
    expect(outcome).toMatchObject({ message: "Changed." })
    expect(store.effects).toEqual([])
    expect(results(store)[0]?.text).toContain("new instructions")
  })
})
