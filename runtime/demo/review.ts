/** The review by a person: the diff, and the question. */
import { createInterface } from "node:readline/promises"
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
  const approved = yes || (yield* ask(`\nMerge it? ${screen.paint("bold", "y")}es or ${screen.paint("bold", "n")}o: `))
  if (yes) screen.say("Approved, as --yes says.")
  yield* client.post(`/api/runs/${runId}/assembly/review`, { approved, request_changes: false }, Accepted)
})

/** `src/app.js  +35 -12`, a line for each file. */
export const filesIn = (diff: string): ReadonlyArray<string> => {
  const files: Array<{ readonly name: string; added: number; removed: number }> = []
  for (const line of diff.split("\n")) {
    const name = /^diff --git a\/.* b\/(.*)$/.exec(line)?.[1]
    if (name !== undefined) files.push({ name: lineOf(name), added: 0, removed: 0 })
    const file = files.at(-1)
    if (file === undefined) continue
    if (line.startsWith("+") && !line.startsWith("+++")) file.added++
    if (line.startsWith("-") && !line.startsWith("---")) file.removed++
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
      const terminal = createInterface({ input: process.stdin, output: process.stdout })
      try {
        const closed = new Promise<string>((_, reject) => terminal.once("close", () => reject(new Error("closed"))))
        while (true) {
          const answer = await Promise.race([terminal.question(question, { signal }), closed])
          if (/^\s*y(?:es)?\s*$/i.test(answer)) return true
          if (/^\s*no?\s*$/i.test(answer)) return false
        }
      } finally {
        terminal.close()
      }
    },
    catch: () => new DemoFailed({ message: "Nobody answered. `--yes` approves without asking." }),
  })
