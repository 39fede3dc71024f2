import fc from "fast-check"
import { describe, expect, it, onTestFinished, vi } from "vitest"
import type { StoredEvent } from "#core/event.ts"
import { makeHub } from "#core/event-log/hub.ts"

const run = "0b0e7a52-4d0c-4f4e-9a53-6f6f0d6b8a11"

const event = (sequence: number): StoredEvent => ({
  runId: run,
  sequence,
  type: "agent.message.delta",
  timestamp: "2026-11-21T12:00:00.000Z",
  payload: `{"n":${sequence}}`,
})

const events = (from: number, to: number): ReadonlyArray<StoredEvent> =>
  Array.from({ length: to - from + 1 }, (_, i) => event(from + i))

const collect = () => {
  const seen: Array<number> = []
  return { seen, onEvents: (batch: ReadonlyArray<StoredEvent>) => void seen.push(...batch.map((e) => e.sequence)) }
}

describe("the hub", () => {
  it("hands a subscriber what is committed after its cursor", () => {
    const hub = makeHub(() => {})
    const { seen, onEvents } = collect()
    hub.join(run, 3, onEvents)
    hub.publish(run, events(4, 5))
    hub.publish(run, events(6, 6))
    expect(seen).toEqual([4, 5, 6])
  })

  it("passes an event on once, however often it hears of it", () => {
    const hub = makeHub(() => {})
    const { seen, onEvents } = collect()
    hub.join(run, 0, onEvents)
    hub.publish(run, events(1, 3))
    hub.publish(run, events(2, 4))
    hub.publish(run, events(1, 4))
    expect(seen).toEqual([1, 2, 3, 4])
  })

  it("asks for what is missing instead of skipping it", () => {
    let asked = 0
    const hub = makeHub(() => void asked++)
    const { seen, onEvents } = collect()
    hub.join(run, 0, onEvents)
    hub.takeWanted()
    hub.publish(run, events(3, 3))
    expect(seen).toEqual([])
    expect(asked).toBe(2)
    expect(hub.takeWanted()).toEqual([{ runId: run, after: 0 }])
    hub.publish(run, events(1, 3))
    expect(seen).toEqual([1, 2, 3])
  })

  it("serves a subscriber that is a little behind from memory", () => {
    const hub = makeHub(() => {})
    hub.join(run, 0, () => {})
    hub.publish(run, events(1, 10))
    const { seen, onEvents } = collect()
    expect(hub.join(run, 6, onEvents)).not.toBe("behind")
    expect(seen).toEqual([7, 8, 9, 10])
  })

  it("tells a subscriber that is too far behind to read first", () => {
    const hub = makeHub(() => {})
    hub.join(run, 0, () => {})
    for (let i = 0; i < 3_000; i += 100) hub.publish(run, events(i + 1, i + 100))
    expect(hub.join(run, 0, () => {})).toBe("behind")
  })

  it("waits with a subscriber that has read further than the feed", () => {
    const hub = makeHub(() => {})
    hub.join(run, 0, () => {})
    const { seen, onEvents } = collect()
    hub.join(run, 5, onEvents)
    hub.publish(run, events(1, 5))
    expect(seen).toEqual([])
    hub.publish(run, events(6, 7))
    expect(seen).toEqual([6, 7])
  })

  it("forgets a run that nobody follows", () => {
    const hub = makeHub(() => {})
    const leave = hub.join(run, 0, () => {})
    expect(hub.followed()).toBe(1)
    if (leave !== "behind") leave()
    expect(hub.followed()).toBe(0)
    expect(hub.everyFeed()).toEqual([])
    expect(hub.takeWanted()).toEqual([])
  })

  it("gives the same batch to every subscriber, so that it is encoded once", () => {
    const hub = makeHub(() => {})
    const batches: Array<ReadonlyArray<StoredEvent>> = []
    for (let i = 0; i < 3; i++) hub.join(run, 0, (batch) => void batches.push(batch))
    hub.publish(run, events(1, 2))
    expect(batches).toHaveLength(3)
    expect(new Set(batches).size).toBe(1)
  })

  it("gathers the deliveries of a busy run with many subscribers, and delivers a quiet run at once", () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] })
    onTestFinished(() => void vi.useRealTimers())
    const hub = makeHub(() => {})
    const batches: Array<number> = []
    const all = Array.from({ length: 10 }, () => collect())
    for (const { onEvents } of all) hub.join(run, 0, onEvents)
    hub.join(run, 0, (batch) => void batches.push(batch.length))
    hub.publish(run, events(1, 1))
    expect(batches).toEqual([1])
    hub.publish(run, events(2, 2))
    hub.publish(run, events(3, 5))
    expect(batches).toEqual([1])
    vi.advanceTimersByTime(3)
    expect(batches).toEqual([1, 4])
    vi.advanceTimersByTime(3)
    hub.publish(run, events(6, 6))
    expect(batches).toEqual([1, 4, 1])
    for (const { seen } of all) expect(seen).toEqual([1, 2, 3, 4, 5, 6])
  })

  it("lets a subscriber leave twice without harm to those who came after", () => {
    const hub = makeHub(() => {})
    const leave = hub.join(run, 0, () => {})
    if (leave === "behind") throw new Error("cannot be behind")
    leave()
    const { seen, onEvents } = collect()
    hub.join(run, 0, onEvents)
    leave()
    hub.publish(run, events(1, 1))
    expect(seen).toEqual([1])
  })

  it("never skips and never repeats, in whatever order it is told of commits", () => {
    const total = 60
    const step = fc.record({
      kind: fc.constantFrom("publish", "read", "join", "leave"),
      from: fc.integer({ min: 1, max: total }),
      length: fc.integer({ min: 1, max: 20 }),
    })
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] })
    onTestFinished(() => void vi.useRealTimers())
    fc.assert(
      fc.property(fc.array(step, { maxLength: 80 }), (steps) => {
        const hub = makeHub(() => {})
        const subscribers: Array<{ after: number; seen: Array<number>; leave: () => void }> = []
        const join = (after: number) => {
          const { seen, onEvents } = collect()
          const leave = hub.join(run, after, onEvents)
          if (leave !== "behind") subscribers.push({ after, seen, leave })
        }
        const readAll = () => {
          for (const { runId, after } of hub.everyFeed()) hub.publish(runId, events(after + 1, total))
        }
        join(0)
        for (const { kind, from, length } of steps) {
          if (kind === "publish") hub.publish(run, events(from, Math.min(total, from + length)))
          else if (kind === "read") {
            for (const { runId, after } of hub.takeWanted()) {
              hub.publish(runId, events(after + 1, Math.min(total, after + length)))
            }
          } else if (kind === "join") join(Math.min(from, total))
          else subscribers.at(from % Math.max(1, subscribers.length))?.leave()
        }
        // where the feed is by now: this one cannot be behind
        join(hub.everyFeed()[0]?.after ?? 0)
        readAll()
        vi.runAllTimers()
        for (const { after, seen } of subscribers) {
          expect(seen).toEqual(Array.from({ length: seen.length }, (_, i) => after + 1 + i))
        }
        expect(subscribers.at(-1)?.seen.length).toBe(total - (subscribers.at(-1)?.after ?? 0))
      }),
    )
  })
})
