/** What is shown of an agent at work: the last thing that it did, in a few words. Pure. */
import type { Seen } from "#runtime/demo/stream.ts"
import { lineOf } from "#runtime/demo/view/clean.ts"
import { type Story, textIn } from "#runtime/demo/view/story.ts"

/** After an event of the child run. */
export const evolveChild = (story: Story, childRunId: string, event: Seen): Story => {
  const last = wordsFor(event)
  return {
    ...story,
    events: story.events + 1,
    rows:
      last === undefined
        ? story.rows
        : story.rows.map((row) => (row.childRunId === childRunId ? { ...row, last: lineOf(last, 80) } : row)),
  }
}

const wordsFor = (event: Seen): string | undefined => {
  switch (event.type) {
    case "agent.intent":
      return textIn(event, "intent")
    case "agent.message":
      return textIn(event, "content")
    case "tool.call":
      return callOf(event)
    case "tool.error":
      return `refused: ${textIn(event, "errorMessage")}`
    case "rai.verdict":
      return `responsible-AI review: ${textIn(event, "verdict")}`
    case "run.failed":
      return textIn(event, "message")
    default:
      return undefined
  }
}

const callOf = (event: Seen): string => {
  const input = event.payload.arguments
  const of = (name: string): string => {
    const value: unknown = typeof input === "object" && input !== null ? Reflect.get(input, name) : undefined
    return typeof value === "string" ? value : ""
  }
  return `${textIn(event, "toolName")} ${of("command") || of("path")}`
}
