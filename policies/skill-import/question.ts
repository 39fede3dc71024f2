/** `skill.import`: may this skill enter the catalog? Nothing is refused without a plugin. */
import { Schema } from "effect"
import { guardQuestion } from "#core/hook.ts"
import { nullable, text } from "#policies/fields.ts"

export const skillImport = guardQuestion({
  name: "skill.import",
  summary: "A skill is about to enter the catalog of a project.",
  ask: Schema.Struct({
    projectId: nullable,
    importedBy: text,
    name: text,
    source: Schema.Struct({
      kind: Schema.Literals(["upload", "marketplace", "repository", "generated"]),
      address: nullable,
      commit: nullable,
    }),
    contentHash: text,
    content: text.annotate({ description: "SKILL.md, whole." }),
    files: Schema.Array(Schema.Struct({ path: text, bytes: Schema.Int })),
  }),
})
