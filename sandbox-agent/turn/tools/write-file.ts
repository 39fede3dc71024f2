/** `write_file`: a text file with this content, whether it was there or not. */
import { Effect, Schema } from "effect"
import { changing } from "#sandbox-agent/turn/files/effect.ts"
import { writeText } from "#sandbox-agent/turn/files/write-text.ts"
import { defineTool, done } from "#sandbox-agent/turn/tool.ts"

export const writeFile = defineTool({
  name: "write_file",
  description:
    "Writes a text file as a whole. Replaces it where it is there; makes its folders where they are missing.",
  input: Schema.Struct({
    path: Schema.String.annotate({ description: "From the top of the working directory." }),
    content: Schema.String,
  }),
  hasEffect: true,
  run: ({ path, content }, { request }) =>
    Effect.as(
      changing(() => writeText(request.workingDirectory, path, content, "any")),
      done(`Wrote ${Buffer.byteLength(content)} bytes to ${path}.`),
    ),
})
