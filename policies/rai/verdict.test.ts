import { describe, expect, it } from "vitest"
import { raiVerdict, verdictOf } from "#policies/rai/verdict.ts"

const table: ReadonlyArray<readonly [behaviour: string, reply: string, expected: ReturnType<typeof verdictOf>]> = [
  ["reads the last line", "All is well.\nVERDICT: GREEN", "green"],
  ["does not mind letter case and ornament", "> **Verdict**: *yellow*.", "yellow"],
  ["reads Windows line ends", "fine\r\nVERDICT: GREEN\r\n", "green"],
  ["takes the last of several", "VERDICT: RED\nOn second thought:\nVERDICT: GREEN", "green"],
  ["takes the last though text follows", "VERDICT: GREEN\nVERDICT: REVISE\nThat is all.", "revise"],
  ["takes the most severe on one line", "VERDICT: GREEN or maybe REVISE", "revise"],
  ["takes the template, sent back, for the worst", "VERDICT: <GREEN|YELLOW|REVISE|RED>", "red"],
  ["takes a negation for what it names", "VERDICT: not red", "red"],
  ["does not read a verdict out of other words", "VERDICT: evergreen", undefined],
  ["does not take prose for green", "Everything is GREEN here.", undefined],
  ["sees a red mark without a sentinel", "This is RED: it leaks a key.", "red"],
  ["sees a yellow mark without a sentinel", "🟡 mind the licence", "yellow"],
  ["takes the red mark before the yellow", "YELLOW at first, 🔴 in the end", "red"],
  ["does not take ordinary words for marks", "The red button is yellow, and he was REDIRECTED.", undefined],
  ["listens to the sentinel alone where there is one", "RED flags: none.\nVERDICT: GREEN", "green"],
  ["falls back to marks where the sentinel says nothing", "RED, I think.\nVERDICT: unsure", "red"],
  ["finds nothing in nothing", "", undefined],
]

describe("the reviewer's verdict", () => {
  it.each(table)("%s", (_, reply, expected) => {
    expect(verdictOf(reply)).toBe(expected)
  })
})

const ask = (...replies: ReadonlyArray<string>) =>
  raiVerdict({ runId: "run", workPlanId: null, treeHash: null, files: [], diff: "", replies })

describe("the responsible-AI pass", () => {
  it("asks the reviewer first", () => {
    expect(ask().verdict).toBe("ask_reviewer")
  })

  it("asks once more where there is no verdict, then blocks", () => {
    expect(ask("hm").verdict).toBe("ask_reviewer")
    expect(ask("hm", "hm again")).toMatchObject({ verdict: "red", reason: "unparseable_after_reask" })
  })

  it("listens to the latest reply alone", () => {
    expect(ask("hm", "VERDICT: GREEN")).toEqual({ verdict: "green", rationale: "" })
    expect(ask("RED!", "hm")).toMatchObject({ verdict: "red", reason: "unparseable_after_reask" })
  })

  it("keeps what was said beside the verdict", () => {
    expect(ask("A key in a.ts.\nVERDICT: RED")).toEqual({ verdict: "red", rationale: "A key in a.ts." })
  })
})
