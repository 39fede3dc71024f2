/** The tools one by one: what they answer, and what they tell. */
import { mkdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { it as effectIt } from "@effect/vitest"
import { Duration, Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import { describe, expect, it } from "vitest"
import { makePaced } from "#sandbox-agent/turn/pace.ts"
import type { ToolUse } from "#sandbox-agent/turn/tool.ts"
import { toolbox } from "#sandbox-agent/turn/tools.ts"
import { emptyStore, makeWorld, ranWell, request, type WorldOptions } from "#test/fakes/turn-world.ts"
import { temporaryFolder } from "#test/support/temporary-folder.ts"

const open = async (options: Partial<WorldOptions> = {}) => {
  const workingDirectory = await temporaryFolder()
  const store = emptyStore()
  const { world } = makeWorld(store, { model: () => [], ...options })
  const use: ToolUse = { callId: "call-1", request: request({ workingDirectory }), world }
  const tools = toolbox(use.request, world)
  const call = async (name: string, input: unknown) => {
    const tool = tools.find(name)
    if (tool === undefined) throw new Error(`there is no ${name}`)
    const { answer } = await Effect.runPromise(tool.call(input, use))
    return answer._tag === "Done" ? answer.text : answer._tag === "Failed" ? `FAILED ${answer.message}` : "WAITS"
  }
  return { call, store, tools, root: workingDirectory }
}

describe("the tools", () => {
  it("are those of the interface, each with a schema of an object", async () => {
    const { tools } = await open()
    expect(tools.offered.map(({ name }) => name)).toEqual([
      ...["run_command", "read_file", "write_file", "create_file", "str_replace_editor", "apply_patch"],
      ...["grep_search", "file_search", "report_intent", "report_outcome", "ask_question", "web_fetch"],
    ])
    for (const { inputSchema } of tools.offered) expect(inputSchema).toMatchObject({ type: "object" })
    const required = Object.fromEntries(
      tools.offered.map(({ name, inputSchema }) => [
        name,
        (inputSchema as { required: ReadonlyArray<string> }).required.join(),
      ]),
    )
    expect(required).toMatchObject({
      run_command: "command",
      read_file: "path",
      create_file: "path,file_text",
      str_replace_editor: "path,old_str,new_str",
      report_outcome: "achieved,reason",
      web_fetch: "url",
    })
  })

  it("do not let one of the service take the place of their own", async () => {
    const tool = (name: string) => ({
      name,
      description: "",
      inputSchema: {},
      call: () => Effect.succeed({ _tag: "Done" as const, text: "mine" }),
    })
    const { call, tools } = await open({ tools: [tool("read_file"), tool("record_memory")] })
    expect(tools.offered.filter(({ name }) => name === "read_file")).toHaveLength(1)
    expect(await call("read_file", { path: "missing" })).toContain("FAILED")
    expect(await call("record_memory", {})).toBe("mine")
  })
})

describe("files", () => {
  it("are read as a whole or by their lines", async () => {
    const { call, root } = await open()
    writeFileSync(join(root, "a.txt"), "1\n2\n3\n4\n")
    expect(await call("read_file", { path: "a.txt", start_line: null })).toBe("1\n2\n3\n4\n")
    expect(await call("read_file", { path: "a.txt", start_line: 2, end_line: 3 })).toBe("2\n3")
    expect(await call("read_file", { path: "a.txt", end_line: 1 })).toBe("1")
    expect(await call("read_file", { path: "a.txt", start_line: 9 })).toBe("FAILED The file has 5 lines.")
    writeFileSync(join(root, "long.txt"), `${"x".repeat(1_048_575)}\nlast line\n`)
    expect(await call("read_file", { path: "long.txt" })).toMatch(/x\n\n… \[the file has 1048586 bytes/)
    expect(await call("read_file", { path: "long.txt", start_line: 2 })).toBe("last line\n")
  })

  it("are made, replaced and changed, or the reason why not is told", async () => {
    const { call, root } = await open()
    mkdirSync(join(root, "folder"))
    expect(await call("create_file", { path: "a.txt", file_text: "one $& one\n" })).toBe("Created a.txt with 11 bytes.")
    expect(await call("create_file", { path: "a.txt", file_text: "x" })).toBe('FAILED "a.txt": it is there already')
    expect(await call("str_replace_editor", { path: "a.txt", old_str: "one", new_str: "x" })).toContain("found 2 times")
    // texts that a search character by character would take hours for
    const long = "a".repeat(1_000_000)
    await call("write_file", { path: "long.txt", content: long + long })
    const half = { path: "long.txt", old_str: `${long.slice(1)}b${long.slice(1)}`, new_str: "x" }
    expect(await call("str_replace_editor", half)).toContain("not found")
    expect(await call("str_replace_editor", { ...half, old_str: long })).toContain("found 100 times or more")
    expect(await call("str_replace_editor", { path: "a.txt", old_str: "two", new_str: "x" })).toContain("is not found")
    expect(await call("str_replace_editor", { path: "a.txt", old_str: " $&", new_str: "$1$$" })).toBe(
      "Replaced at line 1 of a.txt.",
    )
    expect(await call("read_file", { path: "a.txt" })).toBe("one$1$$ one\n")
    expect(await call("write_file", { path: "folder", content: "x" })).toBe('FAILED "folder": this is a folder')
    expect(await call("apply_patch", { patch: "*** Begin Patch\n*** Delete File: a.txt\n*** End Patch" })).toBe(
      "deleted a.txt",
    )
  })

  it("are found by their lines and their names", async () => {
    const { call, root } = await open()
    writeFileSync(join(root, "a.txt"), "here\n")
    expect(await call("grep_search", { pattern: "here" })).toBe("a.txt:1:here")
    expect(await call("grep_search", { pattern: "nowhere" })).toBe("No line matches.")
    expect(await call("file_search", { pattern: "*.txt" })).toBe("a.txt")
    expect(await call("glob", { pattern: "*.md" })).toBe("No file has such a name.")
    expect(await call("grep_search", { pattern: "a", max_results: 501 })).toContain("max_results")
  })
})

describe("run_command", () => {
  it("tells output in pieces, that it is still running, and how it ended", async () => {
    const { call, store } = await open({
      command: ({ onOutput, onWait, timeout }) =>
        Effect.gen(function* () {
          expect(Duration.toMillis(timeout)).toBe(5_000)
          for (let at = 0; at < 200; at += 1) yield* onOutput("stdout", `${at}\n`)
          yield* onWait(20)
          yield* onOutput("stderr", "oops")
          return { ...ranWell, stdout: "OUT", stderr: "ERR", exitCode: -1, timedOut: true, outputTruncated: true }
        }),
    })
    const text = await call("run_command", { command: "make", timeout_ms: 5_000 })
    expect(text).toBe("stdout:\nOUT\nstderr:\nERR\nexit_code: -1\ntimed_out: true\noutput_truncated: true")
    const output = store.events
      .filter(({ type }) => type === "tool.output")
      .map(({ payload }) => payload as { stream: string; data: string })
    const all = (stream: string) =>
      output
        .filter((one) => one.stream === stream)
        .map(({ data }) => data)
        .join("")
    expect(all("stdout")).toBe(Array.from({ length: 200 }, (_, at) => `${at}\n`).join(""))
    expect(all("stderr")).toBe("oops")
    expect(output.length).toBeLessThan(200)
    expect(store.events.find(({ type }) => type === "tool.execution_pending")?.payload).toMatchObject({
      runId: "run-1",
      toolCallId: "call-1",
      toolName: "run_command",
      elapsedSeconds: 20,
    })
  })

  it("does not run what no shell could", async () => {
    const { call, store } = await open()
    expect(await call("run_command", { command: "x".repeat(65_537) })).toContain("65536 bytes")
    expect(await call("run_command", { command: "a\0b" })).toContain("NUL")
    expect(await call("run_command", { command: "" })).toContain("command")
    expect(await call("run_command", { command: "a", timeout_ms: 0 })).toContain("timeout_ms")
    expect(store.effects).toEqual([])
  })
})

describe("web_fetch", () => {
  it("answers what the world fetched", async () => {
    const { call } = await open({ fetch: (url) => ({ _tag: "Failed", message: `${url} is not public` }) })
    expect(await call("web_fetch", { url: "http://localhost/" })).toBe("FAILED http://localhost/ is not public")
  })
})

describe("pieces of output", () => {
  effectIt.effect("go out at once after a pause, and when the pause is over", () =>
    Effect.gen(function* () {
      const told: Array<string> = []
      const paced = yield* makePaced((text) => Effect.sync(() => void told.push(text)))
      yield* paced.push("a")
      yield* paced.push("b")
      yield* paced.push("c")
      expect(told).toEqual(["a"])
      yield* TestClock.adjust("50 millis")
      expect(told).toEqual(["a", "bc"])
      const fiber = yield* Effect.forkChild(paced.push("x".repeat(10_000)))
      yield* Fiber.join(fiber)
      expect(told).toHaveLength(3)
      yield* paced.push("end")
      yield* paced.flush
      expect(told.at(-1)).toBe("end")
    }).pipe(Effect.scoped),
  )
})
