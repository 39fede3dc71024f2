/** A session that grows beyond what the model can read. */
import { Effect } from "effect"
import { describe, expect, it } from "vitest"
import { ModelFailed, type ModelMessage, type ModelRequest } from "#core/wire/model.ts"
import { runTurn } from "#sandbox-agent/turn/turn.ts"
import {
  callTools,
  emptyStore,
  finish,
  makeWorld,
  ranWell,
  request,
  say,
  script,
  type WorldOptions,
} from "#test/fakes/turn-world.ts"
import { temporaryFolder } from "#test/support/temporary-folder.ts"

const task = "Count all the stars, exactly."
const run = async (store: ReturnType<typeof emptyStore>, options: WorldOptions) => {
  const { world } = makeWorld(store, options)
  return Effect.runPromise(Effect.result(runTurn(request({ workingDirectory: await temporaryFolder(), task }), world)))
}

const sizeOf = ({ system, messages, tools }: ModelRequest): number =>
  system.length + JSON.stringify(messages).length + JSON.stringify(tools).length

const command = callTools(["run_command", { command: "look" }])
const long = (characters: number) => () => Effect.succeed({ ...ranWell, stdout: `HEAD ${"x".repeat(characters)} TAIL` })

/** Every call that is sent has its result right behind it, and no result is without its call. */
const expectPaired = (messages: ReadonlyArray<ModelMessage>): void => {
  for (const [index, message] of messages.entries()) {
    const next = messages[index + 1]
    if (message.role === "assistant" && message.calls.length > 0) {
      expect(next?.role === "tool" ? next.results.map(({ callId }) => callId) : []).toEqual(
        message.calls.map(({ callId }) => callId),
      )
    }
    if (message.role === "tool") expect(messages[index - 1]?.role).toBe("assistant")
  }
}

describe("a session that is too long", () => {
  it("has old results cut first", async () => {
    const store = emptyStore()
    const steps = Array(9).fill(command)
    await run(store, { model: script(...steps, say("Done.")), command: long(9_000), contextTokens: 30_000 })
    expect(store.entries.some(({ kind }) => kind === "compaction")).toBe(false)
    const last = store.requests.at(-1)
    const results = last?.messages.flatMap((message) => (message.role === "tool" ? message.results : [])) ?? []
    expect(results).toHaveLength(9)
    expect(results[0]?.text).toContain("characters cut")
    expect(results[0]?.text).toMatch(/^stdout:\nHEAD[\s\S]*exit_code: 0$/)
    expect(results.at(-1)?.text).not.toContain("characters cut")
  })

  it("is summarised, with the task word for word, whenever it is too long again", async () => {
    const store = emptyStore()
    const steps = Array(40).fill(command)
    const outcome = await run(store, {
      model: script(...steps, say("Done.")),
      command: long(9_000),
      contextTokens: 24_000,
    })
    expect(outcome).toMatchObject({ success: { _tag: "Finished", steps: 41 } })
    const compactions = store.entries.filter(({ kind }) => kind === "compaction")
    expect(compactions.length).toBeGreaterThan(1)
    const turns = store.requests.filter(({ labels }) => labels.purpose === "turn")
    expect(turns.map(({ labels }) => labels.step)).toEqual(turns.map((_, index) => index))
    for (const sent of turns) {
      expect(sizeOf(sent)).toBeLessThan(24_000 * 4)
      expect(sent.messages[0]?.role === "user" ? sent.messages[0].text : "").toContain(task)
      expectPaired(sent.messages)
    }
    // what is kept begins with an answer of the model, so that its calls stay with their results
    const at = store.entries.findIndex(({ kind }) => kind === "compaction")
    const compaction = store.entries[at]
    const keeps = compaction?.kind === "compaction" ? (compaction.keeps ?? 0) : 0
    expect(keeps).toBeGreaterThan(0)
    expect(store.entries[at - keeps]).toMatchObject({ kind: "message", message: { role: "assistant" } })
    const last = turns.at(-1)?.messages[0]
    expect(last?.role === "user" ? last.text : "").toContain("SUMMARY")
    const asked = store.requests.filter(({ labels }) => labels.purpose === "compaction")
    expect(asked.map(({ labels, tools }) => [labels.step, tools.length])).toEqual(asked.map((_, step) => [step, 0]))
    // what was summarised is counted as well
    expect(store.events.filter(({ type }) => type === "agent.turn.usage")).toHaveLength(store.requests.length)
  })

  it("is summarised once when the model says so, and then fails", async () => {
    const tooLong = new ModelFailed({ kind: "TooLong", message: "too long", retryable: false })
    const store = emptyStore()
    const turnModel = script(command, command, say("Done."))
    let refused = 0
    const model: WorldOptions["model"] = (asked) => {
      if (asked.labels.purpose === "compaction" || asked.labels.step < 2 || refused > 0) return turnModel(asked)
      refused += 1
      return tooLong
    }
    expect(await run(store, { model })).toMatchObject({ success: { _tag: "Finished", steps: 3 } })
    expect(store.entries.filter(({ kind }) => kind === "compaction")).toHaveLength(1)
    const always = await run(emptyStore(), { model: (asked) => (asked.labels.step < 2 ? turnModel(asked) : tooLong) })
    expect(always).toMatchObject({ failure: { kind: "TooLong" } })
  })

  it("keeps what is left of the record where the model has no word for it", async () => {
    const store = emptyStore()
    const turnModel = script(...Array(12).fill(command), say("Done."))
    const outcome = await run(store, {
      model: (asked) => (asked.labels.purpose === "compaction" ? [finish()] : turnModel(asked)),
      command: long(9_000),
      contextTokens: 24_000,
    })
    expect(outcome).toMatchObject({ success: { _tag: "Finished", steps: 13 } })
    const compaction = store.entries.find((entry) => entry.kind === "compaction")
    expect(compaction?.summary).toContain(task)
    expect(compaction?.summary).toContain('"tool":"run_command"')
    for (const sent of store.requests) expect(sizeOf(sent)).toBeLessThan(24_000 * 4)
  })

  it("takes the model's own count for how many characters it can read", async () => {
    const dense = emptyStore()
    const steps = Array(12).fill([
      ...command({ labels: { step: 0 } } as ModelRequest).slice(0, 1),
      finish("tool_calls", 19_000),
    ])
    await run(dense, { model: script(...steps, say("Done.")), command: long(3_000), contextTokens: 30_000 })
    expect(dense.entries.some(({ kind }) => kind === "compaction")).toBe(true)
  })
})
