import { describe, expect, it } from "vitest"
import { historyItems } from "#core/run/history.ts"

const at = (sequence: number, type: string, callId: string | null = null) => ({
  sequence,
  type,
  timestamp: "2026-01-01T00:00:00.000Z",
  callId,
})

describe("a history", () => {
  it("names the turn of each event and the call of each result", () => {
    const items = historyItems({ runId: "r", agentName: "Writer" }, [
      at(1, "run.started"),
      at(2, "agent.turn.start"),
      at(3, "tool.call", "c1"),
      at(4, "agent.message.delta"),
      at(5, "tool.result", "c1"),
      at(6, "agent.turn.end"),
      at(7, "run.completed"),
    ])
    expect(items.map((item) => [item.id, item.parent_id, item.ephemeral])).toEqual([
      ["r:1", null, false],
      ["r:2", null, false],
      ["r:3", "r:2", false],
      ["r:4", "r:2", true],
      ["r:5", "r:3", false],
      ["r:6", "r:2", false],
      ["r:7", null, false],
    ])
    expect(items[0]?.agent_id).toBe("Writer")
  })
})
