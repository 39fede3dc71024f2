/** Members that several questions have. All are data for a policy to look at; none gives it a right. */
import { Schema } from "effect"
import { sha256 } from "#core/canonical-json.ts"

export const text = Schema.String
export const nullable = Schema.NullOr(Schema.String)
export const runId = Schema.String.annotate({ description: "The run that the question is about." })
export const treeHash = Schema.NullOr(Schema.String).annotate({
  description: "Git tree that the question is about; null where there is none yet.",
})

export const ChangedFile = Schema.Struct({
  path: Schema.String.annotate({ description: "From the top of the repository, with slashes." }),
  status: Schema.Literals(["added", "modified", "deleted"]),
  addedLines: Schema.Int,
  removedLines: Schema.Int,
}).annotate({ identifier: "ChangedFile" })

/** Stands in a run's log for a text that was stopped: whoever has the text can show that it is this one. */
export const withheld = (stopped: string): string => `[withheld: ${stopped.length} characters, ${sha256(stopped)}]`
