/** `grep_search`: lines of the checkout that match. */
import { Effect, Schema } from "effect"
import { reading } from "#sandbox-agent/turn/files/effect.ts"
import { grep } from "#sandbox-agent/turn/search/grep.ts"
import { maxPattern } from "#sandbox-agent/turn/search/pattern.ts"
import { foundText, searchTime } from "#sandbox-agent/turn/search/result.ts"
import { findRipgrep } from "#sandbox-agent/turn/search/ripgrep.ts"
import { defineTool, done } from "#sandbox-agent/turn/tool.ts"

export const grepSearch = defineTool({
  name: "grep_search",
  description:
    "Finds lines in the text files that git does not ignore. Answers path:line:text. Regular expressions are RE2's.",
  input: Schema.Struct({
    pattern: Schema.String.check(Schema.isMinLength(1), Schema.isMaxLength(maxPattern)),
    is_regex: Schema.optionalKey(Schema.Boolean).annotate({ description: "false: the pattern is plain text." }),
    include_pattern: Schema.optionalKey(Schema.String.check(Schema.isMaxLength(maxPattern))).annotate({
      description: "A glob for the files, such as src/**/*.ts",
    }),
    max_results: Schema.optionalKey(Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 500 }))).annotate({
      description: "50 where absent.",
    }),
  }),
  hasEffect: false,
  run: ({ pattern, is_regex, include_pattern, max_results }, { request }) =>
    Effect.map(
      reading(async (signal) => {
        const ripgrep = await findRipgrep(process.env.PATH ?? "")
        const query = { pattern, isRegex: is_regex ?? false, include: include_pattern, limit: max_results ?? 50 }
        return await grep(request.workingDirectory, query, ripgrep, AbortSignal.any([signal, searchTime()]))
      }),
      (found) => done(foundText(found, "No line matches.")),
    ),
})
