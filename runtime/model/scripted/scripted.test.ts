/** What a script answers, and what is said of a script that is wrong. */
import { writeFile } from "node:fs/promises"
import { join } from "node:path"
import { describe, expect, it } from "@effect/vitest"
import { Effect, Result, Stream } from "effect"
import type { ModelMessage, ModelPart, ModelRequest } from "#core/wire/model.ts"
import { piecesOf, play } from "#runtime/model/scripted/play.ts"
import { readScript } from "#runtime/model/scripted/script.ts"
import { makeScripted } from "#runtime/model/scripted/scripted.ts"
import { temporaryFolder } from "#test/support/temporary-folder.ts"

const source = `
script: 1
chunk: 5
roles:
  - agent: [Writer, Author]
    steps:
      - say: I write {{task}}.
        calls:
          - tool: create_file
            arguments: { path: greeting.md, content: "Hello\\n{{ task }}" }
          - tool: read_file
            arguments: '{"path": '
      - - when: { failed: true, result: exists }
          say: "It said: {{result}}"
        - outcome: { achieved: true, reason: written }
  - agent: Writer
    when: { attempt: 2 }
    steps: [{ say: never }]
  - purpose: rai
    repeat: true
    steps:
      - json: { verdict: green, rationale: 'about "{{said}}"' }
  - purpose: [compaction, scribe, rubberduck, outcome_spec, decompose]
    steps: [{ say: "{{purpose}} of {{agent}} at {{step}}" }]
  - agent: Loser
    steps:
      - fail: { kind: RateLimited }
      - { say: too much, finish: length }
`

const scriptOf = (text: string) =>
  Result.getOrThrow(Result.mapError(readScript(text), (lines) => new Error(lines.join("\n"))))
const script = scriptOf(source)

const task: ModelMessage = { role: "user", text: 'a "greeting"' }
const requestOf = (
  labels: Partial<ModelRequest["labels"]>,
  messages: ReadonlyArray<ModelMessage> = [task],
): ModelRequest => ({
  source: "scripted",
  modelId: null,
  system: "",
  messages,
  tools: [],
  labels: { runId: "run", projectId: null, agentName: "Writer", purpose: "turn", step: 0, ...labels },
})

const answer = (request: ModelRequest): ReadonlyArray<ModelPart> => Result.getOrThrow(play(script, request))
const textOf = (parts: ReadonlyArray<ModelPart>) =>
  parts.map((part) => (part.kind === "text" ? part.delta : "")).join("")
const failureOf = (request: ModelRequest) => Result.getOrThrow(Result.flip(play(script, request)))

const found = (text: string, isError: boolean): ReadonlyArray<ModelMessage> => [
  task,
  { role: "assistant", text: "", calls: [{ callId: "a", toolName: "create_file", arguments: "{}" }] },
  { role: "tool", results: [{ callId: "a", toolName: "create_file", text, isError }] },
]

describe("a script", () => {
  it("says texts in small parts and makes calls whose arguments hold what is filled in", () => {
    const parts = answer(requestOf({}))
    expect(textOf(parts)).toBe('I write a "greeting".')
    expect(parts.filter(({ kind }) => kind === "text").length).toBe(5)
    expect(parts.flatMap((part) => (part.kind === "call" ? [part.call] : []))).toEqual([
      {
        callId: "scripted_0_0",
        toolName: "create_file",
        arguments: JSON.stringify({ path: "greeting.md", content: 'Hello\na "greeting"' }),
      },
      { callId: "scripted_0_1", toolName: "read_file", arguments: '{"path": ' },
    ])
    expect(parts.at(-1)).toMatchObject({ kind: "finish", reason: "tool_calls", modelId: "scripted" })
  })

  it("is the same for the same request", () => {
    expect(answer(requestOf({}))).toEqual(answer(requestOf({})))
  })

  it("chooses among alternatives by the last result", () => {
    expect(textOf(answer(requestOf({ step: 1 }, found("it exists", true))))).toBe("It said: it exists")
    for (const other of [found("it exists", false), found("other", true)]) {
      const parts = answer(requestOf({ step: 1 }, other))
      expect(parts[0]).toMatchObject({
        call: { toolName: "report_outcome", arguments: '{"achieved":true,"reason":"written"}' },
      })
    }
  })

  it.each(["compaction", "scribe", "rubberduck", "outcome_spec", "decompose"])(
    "answers for the purpose %s",
    (purpose) => {
      expect(textOf(answer(requestOf({ purpose })))).toBe(`${purpose} of Writer at 0`)
    },
  )

  it("says JSON that stays JSON, and the same at every step", () => {
    for (const step of [0, 1, 7]) {
      const said = textOf(answer(requestOf({ purpose: "rai", agentName: "Rai", step })))
      expect(JSON.parse(said)).toEqual({ verdict: "green", rationale: 'about "a "greeting""' })
    }
  })

  it("fails, and is cut off, as it is told to", () => {
    expect(failureOf(requestOf({ agentName: "Loser" }))).toMatchObject({ kind: "RateLimited", retryable: true })
    expect(answer(requestOf({ agentName: "Loser", step: 1 })).at(-1)).toMatchObject({ reason: "length" })
  })

  it("names the role and the step that it does not have", () => {
    expect(failureOf(requestOf({ agentName: "Stranger", step: 3 }))).toMatchObject({
      kind: "Configuration",
      message: "The script has no role for Stranger, turn, step 3.",
    })
    expect(failureOf(requestOf({ step: 2 })).message).toBe(
      "The role on line 5 of the script has no step for Writer, turn, step 2.",
    )
  })

  it("cuts texts between characters", () => {
    const text = "ab👩‍🚀cd∅"
    expect(piecesOf(text, 2).join("")).toBe(text)
    expect(piecesOf("", 2)).toEqual([])
    for (const piece of piecesOf("👍👍👍", 2)) expect(piece.isWellFormed()).toBe(true)
  })
})

describe("a script that is wrong", () => {
  const cases: ReadonlyArray<readonly [string, ReadonlyArray<RegExp>]> = [
    ["script: 2\nroles: []", [/line 1: script/, /line 2: roles/]],
    ["script: 1\nroles:\n  - steps:\n      - sya: hello\n", [/line 4: roles\.0\.steps\.0\.sya: /]],
    ["script: 1\nroles:\n  - steps:\n      - - say: 1\n", [/line 4: roles\.0\.steps\.0\.0\.say: /]],
    ['script: 1\nroles:\n  - steps:\n      - say: "{{env}}"\n', [/line 4: .*nothing to fill in for \{\{env\}\}/]],
    [
      "script: 1\nroles:\n  - steps:\n      - calls: [{ tool: 'rm -rf' }]\n",
      [/line 4: roles\.0\.steps\.0\.calls\.0\.tool/],
    ],
    ["script: 1\n  roles: [", [/line 2: /]],
    ["a: 1\na: 2\n", [/line 2: .*unique/]],
  ]
  it.each(cases)("%j is told with its line", (text, expected) => {
    const lines = Result.getOrThrow(Result.flip(readScript(text)))
    for (const form of expected) expect(lines.join("\n")).toMatch(form)
  })
})

describe("the source", () => {
  it.effect("streams, and reads a script again once it is right", () =>
    Effect.gen(function* () {
      const folder = yield* Effect.promise(temporaryFolder)
      const path = join(folder, "script.yml")
      const scripted = makeScripted(path)
      expect((yield* Effect.flip(scripted.check)).message).toContain("cannot be read")
      yield* Effect.promise(() => writeFile(path, "script: 1\nroles: 7\n"))
      expect((yield* Effect.flip(scripted.check)).message).toContain("line 2: roles")
      yield* Effect.promise(() => writeFile(path, source))
      yield* scripted.check
      expect(textOf(yield* Stream.runCollect(scripted.stream(requestOf({}))))).toBe('I write a "greeting".')
    }),
  )

  it.effect("says so where no script is set", () =>
    Effect.gen(function* () {
      const failure = yield* Effect.flip(Stream.runDrain(makeScripted(undefined).stream(requestOf({}))))
      expect(failure).toMatchObject({ kind: "Configuration" })
      expect(failure.message).toContain("Providers:Scripted:Path")
    }),
  )
})
