/** `GET /api/runs/{id}/stream` and `GET /api/runs/{id}/events`, over real sockets. */
import { expect, layer } from "@effect/vitest"
import { Effect, Exit, Schema, Scope } from "effect"
import { defineEvent } from "#core/event.ts"
import { TestDatabase } from "#test/support/database.ts"
import { startService, users } from "#test/support/service.ts"
import { type Frame, openStream } from "#test/support/sse.ts"

const Noted = defineEvent("test.noted", Schema.Struct({ n: Schema.Int, text: Schema.optionalKey(Schema.String) }))
const notes = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, i) => Noted.of({ n: from + i }))

const ada = { authorization: `Bearer ${users.ada}` }
const eve = { authorization: `Bearer ${users.eve}` }

const service = startService()

const newRun = ({ runs }: Effect.Success<typeof service>) =>
  Effect.map(
    runs.create({ projectId: null, submittedBy: "ada", agentName: "Writer", task: "write it" }),
    (run) => run.runId,
  )

const ids = (frames: ReadonlyArray<Frame>) =>
  frames.flatMap((frame) => (frame.id === undefined ? [] : [Number(frame.id)]))
const upTo = (n: number) => Array.from({ length: n }, (_, i) => i + 1)
const until = (stream: Effect.Success<ReturnType<typeof openStream>>, last: number) =>
  Effect.promise(() => stream.until((frames) => ids(frames).at(-1) === last))

const get = (url: string, headers: Record<string, string> = ada) =>
  Effect.promise(async () => {
    const response = await fetch(url, { headers })
    const text = await response.text()
    return { status: response.status, headers: response.headers, body: text === "" ? undefined : JSON.parse(text) }
  })

layer(TestDatabase.layer, { excludeTestServices: true, timeout: "60 seconds" })("the stream of a run", (it) => {
  it.effect("sends id, event and the payload alone, then what is appended later", () =>
    Effect.gen(function* () {
      const replica = yield* service
      const runId = yield* newRun(replica)
      const stream = yield* openStream(`${replica.url}/api/runs/${runId}/stream`, ada)
      expect(stream.status).toBe(200)
      expect(stream.headers).toMatchObject({
        "content-type": "text/event-stream; charset=utf-8",
        "cache-control": "no-store",
        "x-accel-buffering": "no",
        "x-content-type-options": "nosniff",
      })
      yield* until(stream, 1)
      yield* replica.log.append(runId, [Noted.of({ n: 1, text: 'two\nlines "and" ünïcode' })])
      yield* until(stream, 2)
      const frame = 'id: 2\nevent: test.noted\ndata: {"n":1,"text":"two\\nlines \\"and\\" ünïcode"}\n\n'
      expect(stream.text().endsWith(frame)).toBe(true)
    }),
  )

  it.effect("resumes after Last-Event-ID, and waits where that lies beyond the end", () =>
    Effect.gen(function* () {
      const replica = yield* service
      const runId = yield* newRun(replica)
      yield* replica.log.append(runId, notes(2, 50))
      const stream = yield* openStream(`${replica.url}/api/runs/${runId}/stream`, { ...ada, "last-event-id": "47" })
      yield* until(stream, 50)
      expect(ids(stream.frames)).toEqual([48, 49, 50])
      const ahead = yield* openStream(`${replica.url}/api/runs/${runId}/stream`, { ...ada, "last-event-id": "52" })
      yield* replica.log.append(runId, notes(51, 54))
      yield* until(ahead, 54)
      expect(ids(ahead.frames)).toEqual([53, 54])
    }),
  )

  for (const cursor of ["-1", "1.5", "0x1", "abc", "1e3", "99999999999999999999"]) {
    it.effect(`refuses the cursor ${JSON.stringify(cursor)}`, () =>
      Effect.gen(function* () {
        const replica = yield* service
        const runId = yield* newRun(replica)
        const { status, body } = yield* get(`${replica.url}/api/runs/${runId}/stream`, {
          ...ada,
          "last-event-id": cursor,
        })
        expect(status).toBe(400)
        expect(body).toMatchObject({ error: "invalid_request", issues: [{ path: "headers.last-event-id" }] })
      }),
    )
  }

  it.effect("drains, says done without an id, and ends when the run ends", () =>
    Effect.gen(function* () {
      const replica = yield* service
      const runId = yield* newRun(replica)
      const stream = yield* openStream(`${replica.url}/api/runs/${runId}/stream`, ada)
      yield* replica.log.append(runId, notes(2, 30))
      yield* replica.runs.cancel(runId, { reason: "cancelled", by: "ada" })
      expect(yield* Effect.promise(() => stream.ended)).toBe(true)
      const last = ids(stream.frames).at(-1) ?? 0
      expect(ids(stream.frames)).toEqual(upTo(last))
      expect(last).toBeGreaterThan(30)
      expect(stream.frames.at(-2)?.event).toBe("run.cancelled")
      expect(stream.frames.at(-1)).toEqual({ event: "done", data: "{}" })

      const again = yield* openStream(`${replica.url}/api/runs/${runId}/stream`, { ...ada, "last-event-id": `${last}` })
      expect(yield* Effect.promise(() => again.ended)).toBe(true)
      expect(again.frames).toEqual([{ event: "done", data: "{}" }])
    }),
  )

  it.effect("tells a subscriber that its run was deleted", () =>
    Effect.gen(function* () {
      const replica = yield* service
      const runId = yield* newRun(replica)
      const stream = yield* openStream(`${replica.url}/api/runs/${runId}/stream`, ada)
      yield* until(stream, 1)
      yield* replica.runs.remove(runId, "ada")
      expect(yield* Effect.promise(() => stream.ended)).toBe(true)
      expect(["done", "error"]).toContain(stream.frames.at(-1)?.event)
    }),
  )

  it.effect("carries a sub-stream beside the run's own", () =>
    Effect.gen(function* () {
      const replica = yield* service
      const runId = yield* newRun(replica)
      yield* replica.log.append(`${runId}-rai`, notes(1, 2))
      const stream = yield* openStream(`${replica.url}/api/runs/${runId}-rai/stream`, ada)
      yield* until(stream, 2)
      expect(stream.frames.map((frame) => frame.event)).toEqual(["test.noted", "test.noted"])
      const odd = yield* get(`${replica.url}/api/runs/${runId}-other/stream`)
      expect(odd.status).toBe(400)
    }),
  )

  it.effect("is refused before it begins: 401 without a key, 403 without a role, 404 without a run", () =>
    Effect.gen(function* () {
      const replica = yield* service
      const runId = yield* newRun(replica)
      for (const route of ["stream", "events"]) {
        const url = `${replica.url}/api/runs/${runId}/${route}`
        expect(yield* get(url, {})).toMatchObject({ status: 401, body: { error: "unauthorized" } })
        expect(yield* get(url, { ...eve, "last-event-id": "x" })).toMatchObject({ status: 403 })
        const unknown = `${replica.url}/api/runs/${crypto.randomUUID()}/${route}`
        expect(yield* get(unknown)).toMatchObject({ status: 404, body: { error: "run_not_found" } })
      }
    }),
  )

  it.effect("ends without done when the replica stops, and goes on at another one", () =>
    Effect.gen(function* () {
      const other = yield* service
      const runId = yield* newRun(other)
      yield* other.log.append(runId, notes(2, 5))
      const life = yield* Scope.make()
      const stopping = yield* Scope.provide(service, life)
      const stream = yield* openStream(`${stopping.url}/api/runs/${runId}/stream`, ada)
      yield* until(stream, 5)
      yield* Scope.close(life, Exit.void)
      yield* Effect.promise(() => stream.ended)
      expect(stream.frames.some((frame) => frame.event === "done")).toBe(false)
      const next = yield* openStream(`${other.url}/api/runs/${runId}/stream`, { ...ada, "last-event-id": "5" })
      yield* other.log.append(runId, notes(6, 6))
      yield* until(next, 6)
      expect(ids(next.frames)).toEqual([6])
    }),
  )

  it.effect("reaches the subscribers of another replica within moments, and each once", () =>
    Effect.gen(function* () {
      const [here, there] = [yield* service, yield* service]
      const runId = yield* newRun(here)
      const streams = yield* Effect.forEach([here, there, there], ({ url }) =>
        openStream(`${url}/api/runs/${runId}/stream`, ada),
      )
      for (let n = 2; n <= 40; n++) yield* (n % 2 === 0 ? here : there).log.append(runId, notes(n, n))
      for (const stream of streams) {
        yield* until(stream, 40)
        expect(ids(stream.frames)).toEqual(upTo(40))
      }
    }),
  )

  it.effect("skips nothing for a reader that stops reading for a while", () =>
    Effect.gen(function* () {
      const replica = yield* service
      const runId = yield* newRun(replica)
      const stream = yield* openStream(`${replica.url}/api/runs/${runId}/stream`, ada)
      yield* until(stream, 1)
      stream.pause()
      const large = "x".repeat(50_000)
      for (let n = 2; n <= 120; n++) yield* replica.log.append(runId, [Noted.of({ n, text: large })])
      const reading = yield* openStream(`${replica.url}/api/runs/${runId}/stream`, ada)
      yield* until(reading, 120)
      stream.resume()
      yield* until(stream, 120)
      expect(ids(stream.frames)).toEqual(upTo(120))
    }),
  )
})

layer(TestDatabase.layer, { excludeTestServices: true, timeout: "60 seconds" })(
  "the persisted events of a run",
  (it) => {
    it.effect("are envelopes, ascending, after a cursor, of a type, up to a limit", () =>
      Effect.gen(function* () {
        const replica = yield* service
        const runId = yield* newRun(replica)
        yield* replica.log.append(runId, notes(2, 20))
        const events = `${replica.url}/api/runs/${runId}/events`
        const all = yield* get(events)
        expect(all.status).toBe(200)
        expect(all.body.map((event: { sequence: number }) => event.sequence)).toEqual(upTo(20))
        expect(all.body[1]).toEqual({
          runId,
          sequence: 2,
          type: "test.noted",
          timestamp: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
          payload: { n: 2 },
        })
        expect((yield* get(`${events}?after=5&limit=3`)).body.map((e: { sequence: number }) => e.sequence)).toEqual([
          6, 7, 8,
        ])
        expect(
          (yield* get(`${events}?type=test.noted&limit=2`)).body.map((e: { sequence: number }) => e.sequence),
        ).toEqual([2, 3])
        expect((yield* get(`${events}?type=Test.Noted`)).body).toEqual([])
        expect((yield* get(`${events}?after=9007199254740991`)).body).toEqual([])
      }),
    )

    it.effect("ignore Range and never answer 206", () =>
      Effect.gen(function* () {
        const replica = yield* service
        const runId = yield* newRun(replica)
        const { status, headers } = yield* get(`${replica.url}/api/runs/${runId}/events`, {
          ...ada,
          range: "bytes=0-10",
          "if-range": '"x"',
        })
        expect(status).toBe(200)
        expect(headers.has("accept-ranges")).toBe(false)
        expect(headers.has("content-range")).toBe(false)
      }),
    )

    const bad = [
      "after=-1",
      "after=",
      "after=1.0",
      "after=01",
      "after=9007199254740992",
      "after=1&after=2",
      "limit=0",
      "limit=1001",
      "limit=ten",
      "limit=",
      "type=",
      "type=a&type=b",
      `type=${"x".repeat(129)}`,
      "other=1",
    ]
    for (const query of bad) {
      it.effect(`refuse ?${query.slice(0, 40)}`, () =>
        Effect.gen(function* () {
          const replica = yield* service
          const runId = yield* newRun(replica)
          const url = `${replica.url}/api/runs/${runId}/events?${query}`
          const { status, body } = yield* get(url)
          expect(status).toBe(400)
          expect(body).toMatchObject({
            error: "invalid_request",
            issues: expect.arrayContaining([{ path: expect.stringMatching(/^query\./), message: expect.any(String) }]),
          })
          expect((yield* get(url, eve)).status).toBe(403)
          expect((yield* get(url, {})).status).toBe(401)
        }),
      )
    }

    it.effect("are written page by page when they are many", () =>
      Effect.gen(function* () {
        const replica = yield* service
        const runId = yield* newRun(replica)
        yield* Effect.forEach(upTo(25), (i) => replica.log.append(runId, notes(i * 100 - 98, i * 100 + 1)))
        const { body } = yield* get(`${replica.url}/api/runs/${runId}/events`)
        expect(body.map((event: { sequence: number }) => event.sequence)).toEqual(upTo(2_501))
        const rest = yield* get(`${replica.url}/api/runs/${runId}/events?after=1400&limit=1000`)
        expect(rest.body.map((event: { sequence: number }) => event.sequence)).toEqual(upTo(2_400).slice(1_400))
      }),
    )
  },
)
