/** What is recorded comes back the same; what differs is told. */
import { appendFile, readFile, stat, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { describe, expect, it } from "@effect/vitest"
import { Effect, Stream } from "effect"
import fc from "fast-check"
import { newId } from "#core/ids.ts"
import { registerSecret } from "#core/redaction.ts"
import { ModelFailed, type ModelMessage, type ModelPart, type ModelRequest } from "#core/wire/model.ts"
import { firstDifference } from "#runtime/model/tape/difference.ts"
import { makeNames } from "#runtime/model/tape/names.ts"
import { makePlayer, readTape } from "#runtime/model/tape/player.ts"
import { makeRecorder, tapedParts } from "#runtime/model/tape/recorder.ts"
import { temporaryFolder } from "#test/support/temporary-folder.ts"

const limits = { contextTokens: 1_000, outputTokens: 100 }
const finish: ModelPart = {
  kind: "finish",
  reason: "stop",
  usage: { inputTokens: 1, outputTokens: 2, totalTokens: 3, totalNanoAiu: 0 },
  modelId: "m",
  timeToFirstTokenMs: 4,
  opaque: { sealed: "reasoning" },
}
const text = (delta: string): ModelPart => ({ kind: "text", delta })

const user = (said: string): ModelMessage => ({ role: "user", text: said })

interface Asking {
  readonly runId: string
  readonly messages: ReadonlyArray<ModelMessage>
  readonly step?: number
  readonly agentName?: string
  readonly system?: string
}

const requestOf = ({
  runId,
  messages,
  step = 0,
  agentName = "Writer",
  system = "Be brief.",
}: Asking): ModelRequest => ({
  source: "hosted",
  modelId: "m",
  system,
  messages,
  tools: [],
  labels: { runId, projectId: null, agentName, purpose: "turn", step },
})

const session = Effect.fnUntraced(function* (recordedData = "/home/ada/data", replayedData = "/srv/data") {
  const path = join(yield* Effect.promise(temporaryFolder), "tapes", "one.jsonl")
  const record = makeRecorder({ path, madeBy: "svc test", names: { data: recordedData } })
  return {
    path,
    record: (asking: Asking, parts: Stream.Stream<ModelPart, ModelFailed>) =>
      Effect.result(Stream.runCollect(record(requestOf(asking), limits, parts))),
    text: Effect.promise(() => readFile(path, "utf8")),
    player: Effect.map(readTape(path), (tape) => makePlayer(tape, { data: replayedData })),
  }
})

describe("a tape", () => {
  it.effect("gives each exchange of a run again, exactly and in pieces as they came", () =>
    Effect.gen(function* () {
      const { record, player } = yield* session()
      const recorded = newId()
      const first = [
        text("I "),
        text("read."),
        { kind: "call", call: { callId: "c", toolName: "t", arguments: "{" } } as const,
        finish,
      ]
      const more: ReadonlyArray<ModelMessage> = [
        user("go"),
        { role: "assistant", text: "I read.", calls: [] },
        user("on"),
      ]
      yield* record({ runId: recorded, messages: [user("go")] }, Stream.fromIterable(first))
      yield* record({ runId: recorded, messages: more, step: 1 }, Stream.make(text("Done."), finish))
      const { stream, limits: known } = yield* player
      const live = newId()
      expect(known).toEqual(limits)
      expect(yield* Stream.runCollect(stream(requestOf({ runId: live, messages: [user("go")] })))).toEqual(first)
      expect(yield* Stream.runCollect(stream(requestOf({ runId: live, messages: more, step: 1 })))).toEqual([
        text("Done."),
        finish,
      ])
      // asked again, as by a worker that takes over
      expect(yield* Stream.runCollect(stream(requestOf({ runId: live, messages: [user("go")] })))).toEqual(first)
    }),
  )

  it.effect("does not mind other ids and other folders, and speaks of the live ones", () =>
    Effect.gen(function* () {
      const { record, player, text: tape } = yield* session()
      const recorded = { run: newId(), child: newId() }
      const live = { run: newId(), child: newId() }
      const said = (data: string, { run, child }: typeof live) =>
        user(`Work in ${data}/checkouts/${run}, after ${child} and ⟦run⟧.`)
      const answered = (data: string, { run, child }: typeof live): ReadonlyArray<ModelPart> => [
        text(`In ${data}/checkouts/${run} after ${child}.`),
        {
          kind: "call",
          call: {
            callId: "c",
            toolName: "read_file",
            arguments: JSON.stringify({ path: `${data}/checkouts/${run}/a` }),
          },
        },
        finish,
      ]
      const parts = answered("/home/ada/data", recorded)
      // the path comes in pieces
      const torn = parts.flatMap((part) =>
        part.kind === "text" ? [...part.delta].map((delta) => text(delta)) : [part],
      )
      yield* record({ runId: recorded.run, messages: [said("/home/ada/data", recorded)] }, Stream.fromIterable(torn))
      expect(yield* tape).not.toContain("/home/ada")
      const { stream } = yield* player
      const request = requestOf({ runId: live.run, messages: [said("/srv/data", live)] })
      expect(yield* Stream.runCollect(stream(request))).toEqual(answered("/srv/data", live))
    }),
  )

  it.effect("tells where a request differs, and answers nothing", () =>
    Effect.gen(function* () {
      const { record, player } = yield* session()
      yield* record({ runId: newId(), messages: [user("one\ntwo blue three")] }, Stream.make(text("ok"), finish))
      const { stream } = yield* player
      const failure = (asking: Asking) => Effect.flip(Stream.runDrain(stream(requestOf(asking))))
      expect(yield* failure({ runId: newId(), messages: [user("one\ntwo green three")] })).toMatchObject({
        kind: "Diverged",
        retryable: false,
        message:
          'The request of Writer, turn, step 0 is not the recorded one. messages[0].text (line 2): expected "one\\ntwo blue three", got "one\\ntwo green three".',
      })
      const longer = [user("one\ntwo blue three"), user("more")]
      expect((yield* failure({ runId: newId(), messages: longer })).message).toContain("messages[1]: expected nothing")
      expect((yield* failure({ runId: newId(), messages: [], step: 5 })).message).toBe(
        "The tape has no exchange for Writer, turn, step 5.",
      )
    }),
  )

  it.effect("keeps runs apart that ask the same at first", () =>
    Effect.gen(function* () {
      const { record, player } = yield* session()
      const answers = ["blue", "green"]
      for (const colour of answers) {
        yield* record({ runId: newId(), messages: [user("go")] }, Stream.make(text(colour), finish))
      }
      const { stream } = yield* player
      const said = (runId: string) =>
        Effect.map(Stream.runCollect(stream(requestOf({ runId, messages: [user("go")] }))), ([first]) => first)
      const [one, two] = [newId(), newId()]
      expect(yield* Effect.all([said(one), said(two), said(one), said(two)])).toEqual(
        ["blue", "green", "blue", "green"].map(text),
      )
      const failure = yield* Effect.flip(Stream.runDrain(stream(requestOf({ runId: newId(), messages: [user("go")] }))))
      expect(failure.kind).toBe("Diverged")
    }),
  )

  it.effect("replays failures, and does not hold what was given up", () =>
    Effect.gen(function* () {
      const { record, player, text: tape } = yield* session()
      const failed = new ModelFailed({ kind: "RateLimited", message: "Too many.", retryable: true })
      yield* record(
        { runId: newId(), messages: [user("a")] },
        Stream.concat(Stream.make(text("x")), Stream.fail(failed)),
      )
      yield* record({ runId: newId(), messages: [user("given up")] }, Stream.take(Stream.make(text("x"), finish), 1))
      const { stream } = yield* player
      expect(yield* Effect.flip(Stream.runDrain(stream(requestOf({ runId: newId(), messages: [user("a")] }))))).toEqual(
        failed,
      )
      expect(yield* tape).not.toContain("given up")
    }),
  )

  it.effect("holds no secret, is read by its owner only, and does not repeat what it has", () =>
    Effect.gen(function* () {
      const secret = `secret-${newId().replaceAll("-", "")}`
      registerSecret(secret)
      const { record, path, text: tape } = yield* session()
      const runId = newId()
      const system = `A long system prompt with ${secret}.`
      const halves = [secret.slice(0, 9), secret.slice(9)].map(text)
      yield* record({ runId, system, messages: [user("go")] }, Stream.make(...halves, finish))
      yield* record({ runId, system, messages: [user("go")], step: 1 }, Stream.make(finish))
      const written = yield* tape
      expect(written).not.toContain(secret)
      expect(written.split("long system prompt")).toHaveLength(2)
      expect((yield* Effect.promise(() => stat(path))).mode & 0o077).toBe(0)
      const lines = written
        .trimEnd()
        .split("\n")
        .map((line) => JSON.parse(line))
      expect(lines[0]).toEqual({ tape: 1, madeBy: "svc test" })
      expect(lines).toHaveLength(1 + 3 + 2)
    }),
  )

  it.effect("is written on by the next recorder", () =>
    Effect.gen(function* () {
      const { record, path, player } = yield* session()
      yield* record({ runId: newId(), messages: [user("a")] }, Stream.make(text("A"), finish))
      const next = makeRecorder({ path, madeBy: "svc later", names: {} })
      const request = requestOf({ runId: newId(), messages: [user("b")] })
      yield* Stream.runDrain(next(request, limits, Stream.make(text("B"), finish)))
      const { stream } = yield* player
      for (const [asked, said] of [
        ["a", "A"],
        ["b", "B"],
      ] as const) {
        const parts = yield* Stream.runCollect(stream(requestOf({ runId: newId(), messages: [user(asked)] })))
        expect(parts[0]).toEqual(text(said))
      }
    }),
  )

  it.effect("that is none is told with its line", () =>
    Effect.gen(function* () {
      const path = join(yield* Effect.promise(temporaryFolder), "tape.jsonl")
      expect((yield* Effect.flip(readTape(path))).message).toContain("cannot be read")
      yield* Effect.promise(() => writeFile(path, '{"tape":2,"madeBy":"x"}\n'))
      expect((yield* Effect.flip(readTape(path))).message).toContain("Line 1")
      yield* Effect.promise(() => writeFile(path, '{"tape":1,"madeBy":"x"}\n'))
      yield* Effect.promise(() => appendFile(path, '{"run":'))
      expect((yield* Effect.flip(readTape(path))).message).toContain("Line 2")
    }),
  )
})

describe("names", () => {
  it("give back every text", () => {
    const piece = fc.oneof(
      fc.string({ unit: "binary" }),
      fc.constantFrom("⟦", "⟧", "⟦run⟧", "⟦(⟧", "/data", "/data/x", "00000000-0000-4000-8000-000000000001"),
      fc.uuid(),
    )
    fc.assert(
      fc.property(fc.array(piece), (pieces) => {
        const { hide, hideKnown, show } = makeNames({
          data: "/data",
          deep: "/data/x",
          run: "00000000-0000-4000-8000-000000000001",
        })
        const whole = pieces.join("")
        expect(show(hide(whole))).toBe(whole)
        expect(show(hideKnown(whole))).toBe(whole)
      }),
    )
  })

  it("number ids as they come, and leave those that only the answer has", () => {
    const { hide, hideKnown } = makeNames({})
    const [one, two, three] = [newId(), newId(), newId()]
    expect(hide(`${two} ${one} ${two}`)).toBe("⟦id:1⟧ ⟦id:2⟧ ⟦id:1⟧")
    expect(hideKnown(`${one} ${three}`)).toBe(`⟦id:2⟧ ${three}`)
  })
})

describe("parts on a tape", () => {
  it("stay in pieces where nothing is hidden", () => {
    const parts = [text("a"), text("b"), finish]
    expect(tapedParts(parts, (whole) => whole)).toEqual(parts)
    expect(tapedParts(parts, (whole) => whole.replace("ab", "x"))).toEqual([text("x"), finish])
  })
})

describe("differences", () => {
  it("are found where there is one, and nowhere else", () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.jsonValue(), (one, other) => {
        expect(firstDifference(one, structuredClone(one))).toBeUndefined()
        const same = JSON.stringify(sorted(one)) === JSON.stringify(sorted(other))
        expect(firstDifference(one, other) === undefined).toBe(same)
      }),
      { numRuns: 1_000 },
    )
  })

  it("are not hidden by what every object has", () => {
    for (const name of ["__proto__", "toString", "constructor"]) {
      const other: unknown = JSON.parse(`{"a":{"${name}":{}}}`)
      expect(firstDifference({ a: {} }, other)).toEqual({ path: `a.${name}`, expected: "nothing", actual: "{}" })
    }
  })

  it("are short", () => {
    const found = firstDifference(
      { a: [`${"x".repeat(5_000)}1${"y".repeat(5_000)}`] },
      { a: [`${"x".repeat(5_000)}2${"y".repeat(5_000)}`] },
    )
    expect(found?.path).toBe("a[0]")
    expect(found?.expected.length).toBeLessThan(200)
    expect(found?.expected).toContain("x1y")
  })
})

/** Members in one order, and -0 as JSON writes it. */
const sorted = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(sorted)
  if (typeof value !== "object" || value === null) return value === 0 ? 0 : value
  const members = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))
  return { members: members.map(([key, member]) => [key, sorted(member)]) }
}
