import { describe, expect, it } from "vitest"
import { envelopeText } from "#plugins/memory/context/envelope.ts"
import { type Candidates, select } from "#plugins/memory/context/select.ts"

const decision = (id: number, content: string) => ({ id, type: "scope", title: "t", content, rationale: null })
const memory = (id: number, content = "c") => ({ id, agent: "a", type: "learning", importance: "high", content })
const session = { id: 1, focus: "f", active_issues: null, summary: null }

const candidates = (more: Partial<Candidates> = {}): Candidates => {
  const all = { decisions: [], memories: [], session: null, child: false, ...more }
  return { memoryCount: all.memories.length, ...all }
}
const selected = (from: Candidates, maxItems: number, maxTokens: number) => {
  const selection = select(from, { maxItems, maxTokens })
  if (selection._tag === "OverBudget") throw new Error("over budget")
  return selection
}

describe("what goes into a context", () => {
  it("is everything where it fits", () => {
    const all = { decisions: [decision(1, "d")], memories: [memory(1), memory(2)], session }
    expect(selected(candidates(all), 20, 4_000)).toEqual({
      _tag: "Selected",
      envelope: all,
      omittedMemoryCount: 0,
      omittedSessionCount: 0,
      omissionCauses: [],
    })
  })

  it("stops at the first memory that does not fit, though later ones would", () => {
    const { envelope, ...rest } = selected(
      candidates({ memories: [memory(1), memory(2, "x".repeat(2_000)), memory(3)], session }),
      20,
      200,
    )
    expect(envelope.memories.map(({ id }) => id)).toEqual([1])
    expect(envelope.session).toEqual(session)
    expect(rest).toEqual({
      _tag: "Selected",
      omittedMemoryCount: 2,
      omittedSessionCount: 0,
      omissionCauses: ["max_tokens"],
    })
  })

  it("counts those that were never read as omitted", () => {
    const memories = [memory(1), memory(2), memory(3)]
    const { envelope, omittedMemoryCount, omissionCauses } = selected(
      { ...candidates({ memories }), memoryCount: 90 },
      2,
      4_000,
    )
    expect(envelope.memories).toHaveLength(2)
    expect({ omittedMemoryCount, omissionCauses }).toEqual({ omittedMemoryCount: 88, omissionCauses: ["max_items"] })
  })

  it("is the decisions alone for a part of another's work", () => {
    const all = { decisions: [decision(1, "d")], memories: [memory(1)], session, child: true }
    const told = { _tag: "Selected", envelope: { decisions: all.decisions, memories: [], session: null } }
    expect(selected(candidates(all), 20, 4_000)).toEqual({
      ...told,
      omittedMemoryCount: 1,
      omittedSessionCount: 1,
      omissionCauses: ["child_run"],
    })
    expect(selected(candidates({ decisions: all.decisions, child: true }), 20, 4_000)).toMatchObject({
      ...told,
      omissionCauses: [],
    })
  })

  it("is nothing at all where the decisions alone are too much", () => {
    const much = candidates({ decisions: [decision(1, "x".repeat(400))] })
    expect(select(much, { maxItems: 20, maxTokens: 50 })).toMatchObject({ _tag: "OverBudget" })
    expect(select(candidates({ memories: [memory(1)] }), { maxItems: 20, maxTokens: 0 })).toMatchObject({
      _tag: "Selected",
      omittedMemoryCount: 1,
    })
  })

  it("is never more than the budget, whatever its texts are made of", () => {
    for (const content of ["x", "é".repeat(50), "\u0001".repeat(20), '"\\'.repeat(30), "😀".repeat(25)]) {
      for (let maxTokens = 20; maxTokens < 700; maxTokens += 13) {
        const memories = Array.from({ length: 12 }, (_, id) => memory(id, content))
        const { envelope } = selected(candidates({ memories, session }), 20, maxTokens)
        const empty = envelope.memories.length === 0 && envelope.session === null
        if (!empty) expect(Math.ceil(envelopeText(envelope).length / 4)).toBeLessThanOrEqual(maxTokens)
      }
    }
  })
})
