import { Effect, Exit } from "effect"
import fc from "fast-check"
import { describe, expect, it } from "vitest"
import { allowed, hooksOf, refusedBecause } from "#core/hook.ts"
import { asksOf, type LineageEntry, permitToolCall } from "#policies/tool-call/lineage.ts"

const call = { callId: "c", toolName: "run_command", arguments: { command: "ls" } }
const entry = (runId: string): LineageEntry => ({ runId, agentName: `agent of ${runId}` })

/** A guard that refuses these runs, and nobody else. */
const refusing = (runs: ReadonlySet<string>) =>
  hooksOf((_, input) => {
    const { runId } = input as { readonly runId: string } // only tool.call is asked here
    return Effect.succeed(runs.has(runId) ? refusedBecause("no") : allowed)
  })

const isAllowed = (refused: ReadonlySet<string>, lineage: readonly [LineageEntry, ...LineageEntry[]]) =>
  Exit.isSuccess(Effect.runSyncExit(permitToolCall(refusing(refused), call, lineage)))

describe("a tool call", () => {
  it("is asked about once for every run above the caller, the topmost first", () => {
    expect(asksOf(call, [entry("root"), entry("child")]).map(({ runId, calledBy }) => [runId, calledBy])).toEqual([
      ["root", "child"],
      ["child", "child"],
    ])
  })

  it("is allowed to a child only where it is allowed to every run above it", () => {
    const runs = fc.uniqueArray(fc.string({ minLength: 1 }), { minLength: 2, maxLength: 8 })
    fc.assert(
      fc.property(runs, fc.array(fc.nat(7)), (ids, picked) => {
        const refused = new Set(picked.flatMap((index) => ids[index] ?? []))
        const [first = "", ...rest] = ids
        const lineage = [entry(first), ...rest.map(entry)] as const
        if (!isAllowed(refused, lineage)) return
        for (let depth = 1; depth < ids.length; depth++) {
          expect(isAllowed(refused, [entry(first), ...rest.slice(0, depth - 1).map(entry)])).toBe(true)
        }
        expect(refused.size).toBe(0)
      }),
    )
  })
})
