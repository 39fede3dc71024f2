/** `file_search`, and its other name `glob`: files by their names. */
import { Effect, Schema } from "effect"
import { reading } from "#sandbox-agent/turn/files/effect.ts"
import { fileSearch } from "#sandbox-agent/turn/search/file-search.ts"
import { maxPattern } from "#sandbox-agent/turn/search/pattern.ts"
import { foundText, searchTime } from "#sandbox-agent/turn/search/result.ts"
import { defineTool, done, type Tool } from "#sandbox-agent/turn/tool.ts"

export const fileSearchTool = defineTool({
  name: "file_search",
  description: "Finds files that git does not ignore by a glob, such as **/*.ts or package.json. Answers paths.",
  input: Schema.Struct({
    pattern: Schema.String.check(Schema.isMinLength(1), Schema.isMaxLength(maxPattern)),
    max_results: Schema.optionalKey(Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 1_000 }))).annotate({
      description: "200 where absent.",
    }),
  }),
  hasEffect: false,
  run: ({ pattern, max_results }, { request }) =>
    Effect.map(
      reading((signal) =>
        fileSearch(request.workingDirectory, pattern, max_results ?? 200, AbortSignal.any([signal, searchTime()])),
      ),
      (found) => done(foundText(found, "No file has such a name.")),
    ),
})

/** Not offered to models, but some call it all the same. */
export const glob: Tool = { ...fileSearchTool, name: "glob" }
