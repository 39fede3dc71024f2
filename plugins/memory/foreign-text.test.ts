/** What makes the words of an agent doubtful: tools that look outside, networks, and messages of others. */
import { mkdir, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { expect, layer } from "@effect/vitest"
import { Effect } from "effect"
import { EventLog } from "#core/event-log.ts"
import { ToolCall } from "#core/run/events/turn.ts"
import { makeForeignText } from "#plugins/memory/foreign-text.ts"
import { memory } from "#plugins/memory/plugin.ts"
import { messages } from "#plugins/messages/plugin.ts"
import { coreServices } from "#test/support/core-services.ts"
import { folders, memoryWorld } from "#test/support/memory-world.ts"

const setUp = Effect.gen(function* () {
  const world = yield* memoryWorld([memory, messages])
  const log = yield* EventLog
  const { note, wasGivenTo } = makeForeignText(world.sql, log)
  const afterCalls = Effect.fnUntraced(function* (...names: ReadonlyArray<string>) {
    const { runId } = yield* world.newRun("Ann", { repository: world.folder })
    const calls = names.map((toolName, index) => ToolCall.of({ callId: `c${index}`, toolName, arguments: {} }))
    if (calls.length > 0) yield* log.append(runId, calls)
    return yield* wasGivenTo(runId)
  })
  const policy = (text: string) =>
    Effect.promise(async () => {
      await mkdir(join(world.folder, ".svc"), { recursive: true })
      await writeFile(join(world.folder, ".svc", "settings.yml"), text)
    })
  return { ...world, note, wasGivenTo, afterCalls, policy }
})

layer(coreServices({}, folders), { excludeTestServices: true, timeout: "60 seconds" })("an agent was given", (it) => {
  it.effect("nothing foreign by the tools of the house, and what is foreign by every other tool", () =>
    Effect.gen(function* () {
      const { afterCalls } = yield* setUp
      expect(yield* afterCalls()).toBe(false)
      expect(yield* afterCalls("read_file", "grep_search", "record_memory", "get_memory", "report_outcome")).toBe(false)
      expect(yield* afterCalls("read_file", "web_fetch", "read_file")).toBe(true)
      expect(yield* afterCalls("a_tool_of_some_plugin")).toBe(true)
    }),
  )

  it.effect("foreign text by commands only where these reach a network", () =>
    Effect.gen(function* () {
      const { afterCalls, policy } = yield* setUp
      expect(yield* afterCalls("run_command")).toBe(false)
      yield* policy("sandbox:\n  network_enabled: true\n")
      expect(yield* afterCalls("run_command")).toBe(true)
      expect(yield* afterCalls("read_file")).toBe(false)
      yield* policy("sandbox:\n  direct: true\n")
      expect(yield* afterCalls("run_command")).toBe(true)
    }),
  )

  it.effect("a message once it has claimed it, and whatever is noted", () =>
    Effect.gen(function* () {
      const { agent, note, wasGivenTo } = yield* setUp
      const [ann, bob] = [yield* agent("Ann"), yield* agent("Bob")]
      const body = { recipient: "Bob", target_run_id: bob.run.runId, content: "c", idempotency_key: "k" }
      expect((yield* ann.call("POST", "/agent-messages", body)).status).toBe(201)
      expect([yield* wasGivenTo(ann.run.runId), yield* wasGivenTo(bob.run.runId)]).toEqual([false, false])
      yield* bob.call("POST", "/agent-messages/claim", { owner: "o" })
      expect([yield* wasGivenTo(ann.run.runId), yield* wasGivenTo(bob.run.runId)]).toEqual([false, true])
      yield* note(ann.run.runId)
      yield* note(ann.run.runId)
      expect(yield* wasGivenTo(ann.run.runId)).toBe(true)
    }),
  )
})

layer(coreServices({}, folders), { excludeTestServices: true, timeout: "60 seconds" })("without messages", (it) => {
  it.effect("an agent writes as before", () =>
    Effect.gen(function* () {
      const { agent } = yield* memoryWorld([memory])
      const ann = yield* agent("Ann")
      const kept = yield* ann.call("POST", "/agents/Ann/memory", { type: "learning", content: "c" })
      expect(kept).toMatchObject({ status: 201, body: { sourceKind: "agent" } })
    }),
  )
})
