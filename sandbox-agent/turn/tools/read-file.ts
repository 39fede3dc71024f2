/** `read_file`: a text file of the checkout, or some of its lines. */
import { Effect, Schema } from "effect"
import { reading } from "#sandbox-agent/turn/files/effect.ts"
import { readText } from "#sandbox-agent/turn/files/read.ts"
import { maxWriteBytes } from "#sandbox-agent/turn/files/write.ts"
import { defineTool, done, failed } from "#sandbox-agent/turn/tool.ts"

/** Bytes of a file that is asked for as a whole; lines are found in more. */
const maxReadBytes = 1_048_576

const LineNumber = Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 10_000_000 }))

export const readFile = defineTool({
  name: "read_file",
  description:
    "Reads a text file. Give start_line and end_line for a part of a long one: the first line is 1, both ends are included.",
  input: Schema.Struct({
    path: Schema.String.annotate({ description: "From the top of the working directory." }),
    start_line: Schema.optionalKey(LineNumber),
    end_line: Schema.optionalKey(LineNumber),
  }),
  hasEffect: false,
  run: ({ path, start_line, end_line }, { request }) => {
    const ranged = start_line !== undefined || end_line !== undefined
    return Effect.map(
      reading(() => readText(request.workingDirectory, path, ranged ? maxWriteBytes : maxReadBytes)),
      ({ text, size, cut }) => {
        if (!ranged) {
          return done(cut ? `${text}\n… [the file has ${size} bytes; ask for the rest by its lines]` : text)
        }
        const lines = text.split("\n")
        const from = start_line ?? 1
        if (from > lines.length) return failed(`The file has ${lines.length} lines${cut ? " that can be read" : ""}.`)
        return done(lines.slice(from - 1, end_line ?? lines.length).join("\n"))
      },
    )
  },
})
