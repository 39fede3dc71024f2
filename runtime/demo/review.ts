/** The review by a person: the diff, and the question. */
import { createInterface } from "node:readline"
import { Effect, Schema } from "effect"
import type { Client } from "#runtime/demo/client.ts"
import { DemoFailed } from "#runtime/demo/failed.ts"
import { lineOf, linesOf } from "#runtime/demo/view/clean.ts"
import type { Screen } from "#runtime/demo/view/screen.ts"
import type { Colour, Paint } from "#runtime/demo/view/tree.ts"

const Reviewed = Schema.Struct({ diff: Schema.NullOr(Schema.String) })
const Accepted = Schema.Struct({ accepted: Schema.Boolean })

/** Lines of a diff that are shown before the question. */
const maxLines = 400

/** Shows the change and sends the answer: yes where nobody is to be asked. */
export const review = Effect.fn("demo.review")(function* (
  client: Client,
  runId: string,
  { screen, yes }: { readonly screen: Screen; readonly yes: boolean },
) {
  const { diff } = yield* client.get(`/api/runs/${runId}`, Reviewed)
  screen.say("\nThe change, for your review:")
  for (const line of yes ? filesIn(diff ?? "") : shownDiff(diff ?? "", screen.paint)) screen.say(line)
  const approved = yes || (yield* ask("\nMerge it? (yes or no) "))
  if (yes) screen.say("Approved, as --yes says.")
  yield* client.post(`/api/runs/${runId}/assembly/review`, { approved, request_changes: false }, Accepted)
})

/** `src/app.js  +35 -12`, a line for each file. */
export const filesIn = (diff: string): ReadonlyArray<string> => {
  const files: Array<{ readonly name: string; added: number; removed: number }> = []
  let inHunk = false
  for (const line of diff.split("\n")) {
    const name = /^diff --git a\/.* b\/(.*)$/.exec(line)?.[1]
    if (name !== undefined) files.push({ name: lineOf(name), added: 0, removed: 0 })
    inHunk = name === undefined && (inHunk || line.startsWith("@@"))
    const file = files.at(-1)
    if (!inHunk || file === undefined) continue
    if (line.startsWith("+")) file.added++
    if (line.startsWith("-")) file.removed++
  }
  const width = Math.max(...files.map(({ name }) => name.length), 0)
  return files.map(({ name, added, removed }) => `  ${name.padEnd(width)}  +${added} -${removed}`)
}

export const shownDiff = (diff: string, paint: Paint): ReadonlyArray<string> => {
  const lines = linesOf(diff)
  const shown = lines.slice(0, maxLines).map((line) => {
    const colour = colourOf(line)
    return colour === undefined ? line : paint(colour, line)
  })
  return lines.length <= maxLines ? shown : [...shown, `… ${lines.length - maxLines} lines more`]
}

const colourOf = (line: string): Colour | undefined => {
  if (/^(?:diff|index|---|\+\+\+) /.test(line)) return "bold"
  if (line.startsWith("@@")) return "cyan"
  if (line.startsWith("+")) return "green"
  return line.startsWith("-") ? "red" : undefined
}

/** Asks until the answer is one. */
const ask = (question: string): Effect.Effect<boolean, DemoFailed> =>
  Effect.tryPromise({
    try: async (signal) => {
      const terminal = createInterface({ input: process.stdin, output: process.stdout, prompt: question })
      signal.addEventListener("abort", () => terminal.close())
      // while it reads, a terminal hands Ctrl-C to it and not to the process
      terminal.once("SIGINT", () => process.emit("SIGINT"))
      try {
        terminal.prompt()
        for await (const answer of terminal) {
          if (/^\s*y(?:es)?\s*$/i.test(answer)) return true
          if (/^\s*no?\s*$/i.test(answer)) return false
          terminal.prompt()
        }
        throw new Error("closed")
      } finally {
        terminal.close()
      }
    },
    catch: () => new DemoFailed({ message: "Nobody answered. `--yes` approves without asking." }),
  })
