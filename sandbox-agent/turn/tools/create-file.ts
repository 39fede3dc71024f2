/** `create_file`: a new text file; never over one that is there. */
import { Effect, Schema } from "effect"
import { changing } from "#sandbox-agent/turn/files/effect.ts"
import { writeText } from "#sandbox-agent/turn/files/write-text.ts"
import { defineTool, done } from "#sandbox-agent/turn/tool.ts"

export const createFile = defineTool({
  name: "create_file",
  description: "Makes a new text file, with its folders. Fails where the file is there already.",
  input: Schema.Struct({
    path: Schema.String.annotate({ description: "From the top of the working directory." }),
    file_text: Schema.String,
  }),
  hasEffect: true,
  run: ({ path, file_text }, { request }) =>
    Effect.as(
      changing(() => writeText(request.workingDirectory, path, file_text, "create")),
      done(`Created ${path} with ${Buffer.byteLength(file_text)} bytes.`),
    ),
})
