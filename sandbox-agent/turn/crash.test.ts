/** A worker is lost at every possible point of a turn, and another one goes on. */
import { existsSync, readFileSync } from "node:fs"
import { readdir } from "node:fs/promises"
import { join } from "node:path"
import { Effect } from "effect"
import { describe, expect, it } from "vitest"
import type { SessionEntry, TurnOutcome } from "#core/wire/turn.ts"
import { itemsOf, openCalls } from "#sandbox-agent/turn/session.ts"
import { runTurn } from "#sandbox-agent/turn/turn.ts"
import {
  callTools,
  type Death,
  emptyStore,
  finish,
  makeWorld,
  request,
  type Store,
  say,
  script,
  type WorldOptions,
} from "#test/fakes/turn-world.ts"
import { temporaryFolder } from "#test/support/temporary-folder.ts"

const note = (store: Store): NonNullable<WorldOptions["tools"]>[number] => ({
  name: "record_memory",
  description: "",
  inputSchema: {},
  call: (_, callId) =>
    Effect.sync(() => {
      store.effects.push(callId)
      return { _tag: "Done", text: "noted" }
    }),
})

/** Every kind of step that a turn has. The two halves of one answer make up for one that was cut. */
const options = (store: Store): WorldOptions => ({
  tools: [note(store)],
  model: script(
    callTools(["report_intent", { intent: "look" }], ["run_command", { command: "make" }], ["record_memory", {}]),
    callTools(
      ["write_file", { path: "a.txt", content: "one" }],
      ["no_such_tool", {}],
      ["ask_question", { question: "ok?" }],
    ),
    [{ kind: "text", delta: "Half of a" }, finish("length")],
    callTools(["run_command", { command: "make test" }], ["report_outcome", { achieved: true, reason: "green" }]),
    say("Done."),
  ),
})

interface Lives {
  readonly outcome: TurnOutcome
  readonly store: Store
  readonly folder: string
  /** Did the first worker die before it was done? */
  readonly died: boolean
}

/** A worker that dies there, and those after it. */
const live = async (deaths: ReadonlyArray<Death>): Promise<Lives> => {
  const store = emptyStore()
  const folder = await temporaryFolder()
  let died = false
  for (const death of deaths) {
    const { world, died: isDead } = makeWorld(store, { ...options(store), death })
    const asked = request({ workingDirectory: folder, resumes: store.entries.length > 0 })
    await Effect.runPromise(Effect.result(runTurn(asked, world)))
    died ||= isDead()
  }
  const { world } = makeWorld(store, options(store))
  const asked = request({ workingDirectory: folder, resumes: store.entries.length > 0 })
  return { outcome: await Effect.runPromise(runTurn(asked, world)), store, folder, died }
}

const countOf = (values: ReadonlyArray<string>): ReadonlyMap<string, number> =>
  values.reduce((counts, value) => counts.set(value, (counts.get(value) ?? 0) + 1), new Map<string, number>())

const callIds = (store: Store, ...types: ReadonlyArray<string>): ReadonlyArray<string> =>
  store.events
    .filter(({ type }) => types.includes(type))
    .map(({ payload }) => (payload as { readonly callId: string }).callId)

const asked = (entries: ReadonlyArray<SessionEntry>): ReadonlyArray<string> =>
  entries.flatMap((entry) =>
    entry.kind === "message" && entry.message.role === "assistant"
      ? entry.message.calls.map((call) => call.callId)
      : [],
  )

/** What has to hold whenever a turn has come to its end. */
const expectConsistent = async ({ store, outcome, folder }: Lives): Promise<void> => {
  expect(outcome).toMatchObject({ _tag: "Finished", message: "Done." })
  // no effect twice
  expect([...countOf(store.effects).values()].filter((count) => count > 1)).toEqual([])
  // each call of each answer has exactly one result, in the session and, where it is shown, in the log
  const calls = asked(store.entries)
  const settled = store.entries.flatMap((entry) => (entry.kind === "call_result" ? [entry.call.callId] : []))
  expect([...settled].sort()).toEqual([...calls].sort())
  expect(openCalls(store.entries)).toEqual([])
  const shown = calls.filter((callId) => callId !== "call-3-1")
  expect([...callIds(store, "tool.call")].sort()).toEqual([...shown].sort())
  expect([...callIds(store, "tool.result", "tool.error")].sort()).toEqual([...shown].sort())
  // each answer is told once, and has its usage
  const answers = itemsOf(store.entries).filter((item) => item.kind === "said")
  const told = store.events
    .filter(({ type }) => type === "agent.message")
    .map(({ payload }) => (payload as { content: string }).content)
  expect(told).toEqual(answers.map(({ text }) => text).filter((text) => text !== ""))
  expect(store.events.filter(({ type }) => type === "agent.turn.usage")).toHaveLength(answers.length)
  // each answer is a turn, which ends once
  const turnIds = (type: string) =>
    store.events.filter((event) => event.type === type).map(({ payload }) => (payload as { turnId: string }).turnId)
  expect(turnIds("agent.turn.end")).toEqual(answers.map((_, index) => `turn-${index + 1}`))
  expect([...new Set(turnIds("agent.turn.start"))]).toEqual(turnIds("agent.turn.end"))
  expect(store.events.filter(({ type }) => type === "agent.tools")).toHaveLength(1)
  expect(store.events.filter(({ type }) => type === "run.outcome")).toHaveLength(1)
  // nothing half done lies about
  expect((await readdir(folder)).filter((name) => name !== "a.txt")).toEqual([])
}

const users = (store: Store): ReadonlyArray<string> =>
  store.entries.flatMap((entry) =>
    entry.kind === "message" && entry.message.role === "user" ? [entry.message.text] : [],
  )

describe("a worker that is lost", () => {
  it("changes nothing of what comes out, wherever it happens", async () => {
    const store = emptyStore()
    const folder = await temporaryFolder()
    const whole = makeWorld(store, options(store))
    const outcome = await Effect.runPromise(runTurn(request({ workingDirectory: folder }), whole.world))
    await expectConsistent({ outcome, store, folder, died: false })
    expect(whole.operations()).toBeGreaterThan(25)
    const last = whole.operations() - 1

    for (let at = 0; at <= last; at += 1) {
      for (const when of ["before", "after"] as const) {
        const lives = await live([{ at, when }])
        expect(lives.died).toBe(true)
        await expectConsistent(lives)
        // the task is told once, also where the last word was stored already
        expect(users(lives.store)).toHaveLength(2)
        // what was cut off is told as such, and everything else came out as in one life
        const differs = lives.store.entries.filter(
          (entry) => entry.kind === "call_result" && !isAmong(entry, store.entries),
        )
        expect(differs.length).toBeLessThanOrEqual(1)
      }
    }
  })

  it("may be lost twice", async () => {
    for (let at = 1; at < 30; at += 3) {
      for (const second of [1, 3, 4, 6]) {
        const lives = await live([
          { at, when: "after" },
          { at: second, when: "before" },
        ])
        await expectConsistent(lives)
        // the file is there, or the model was told that it may not be
        const written = lives.store.entries.find(
          (one) => one.kind === "call_result" && one.call.toolName === "write_file",
        )
        const path = join(lives.folder, "a.txt")
        expect(existsSync(path) ? readFileSync(path, "utf8") : "one").toBe("one")
        expect(existsSync(path) || (written?.kind === "call_result" && written.isError)).toBe(true)
      }
    }
  })

  it("leaves no word of a call that was cut off but that it was", async () => {
    const store = emptyStore()
    const folder = await temporaryFolder()
    let died = false
    const dying: WorldOptions = {
      ...options(store),
      command: () => {
        died = true
        return Effect.die("the machine went away")
      },
    }
    await Effect.runPromiseExit(runTurn(request({ workingDirectory: folder }), makeWorld(store, dying).world))
    expect(died).toBe(true)
    const { world } = makeWorld(store, options(store))
    await Effect.runPromise(runTurn(request({ workingDirectory: folder, resumes: true }), world))
    const result = store.entries.find((entry) => entry.kind === "call_result" && entry.call.callId === "call-0-1")
    expect(result).toMatchObject({ isError: true, text: expect.stringContaining("worker was lost") })
    expect(store.effects.filter((callId) => callId === "call-0-1")).toHaveLength(1)
  })
})

const isAmong = (entry: SessionEntry, others: ReadonlyArray<SessionEntry>): boolean =>
  others.some((other) => JSON.stringify(other) === JSON.stringify(entry))
