/** `str_replace_editor`: one piece of a file for another. */
import { Effect, Schema } from "effect"
import { changing } from "#sandbox-agent/turn/files/effect.ts"
import { replaceOnce } from "#sandbox-agent/turn/files/replace.ts"
import { defineTool, done } from "#sandbox-agent/turn/tool.ts"

export const strReplaceEditor = defineTool({
  name: "str_replace_editor",
  description: "Replaces a piece of a text file. old_str has to be found exactly once, with all its spaces and lines.",
  input: Schema.Struct({
    path: Schema.String.annotate({ description: "From the top of the working directory." }),
    old_str: Schema.String.check(Schema.isMinLength(1)),
    new_str: Schema.String,
  }),
  hasEffect: true,
  run: ({ path, old_str, new_str }, { request }) =>
    Effect.map(
      changing(() => replaceOnce(request.workingDirectory, path, old_str, new_str)),
      (line) => done(`Replaced at line ${line} of ${path}.`),
    ),
})
