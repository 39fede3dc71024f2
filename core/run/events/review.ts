/** Events of review and merge. The reviewer's name is more than the interface asks for. */
import { Schema } from "effect"
import { defineEvent } from "#core/event.ts"

const optional = Schema.optionalKey
const reviewer = { reviewer: optional(Schema.String) }

export const ReviewRequested = defineEvent(
  "review.requested",
  Schema.Struct({ tree_hash: Schema.String, request_id: Schema.String }),
)

export const ReviewApproved = defineEvent("review.approved", Schema.Struct(reviewer))

export const ReviewDeclined = defineEvent("review.declined", Schema.Struct(reviewer), { mayEndRun: true })

export const ReviewChangesRequested = defineEvent(
  "review.changes_requested",
  Schema.Struct({ comment: Schema.String, ...reviewer }),
)

export const RevisionStarted = defineEvent(
  "revision.started",
  Schema.Struct({ revision: Schema.Int, message: Schema.String }),
)

export const MergeStarted = defineEvent("merge.started", Schema.Struct({ tree_hash: Schema.NullOr(Schema.String) }))

export const MergeCompleted = defineEvent(
  "merge.completed",
  Schema.Struct({
    merged_commit_hash: Schema.String,
    merge_mode: optional(Schema.Literals(["ref-only", "working-tree-reset"])),
    previous_head_sha: optional(Schema.String),
  }),
  { mayEndRun: true },
)

/** Which files conflicted; `merge.failed` follows. */
export const MergeConflicted = defineEvent(
  "merge.conflicted",
  Schema.Struct({
    conflicting_files: optional(Schema.Array(Schema.String)),
    workPlanId: optional(Schema.Int),
    reason: optional(Schema.String),
    conflictingBranch: optional(Schema.String),
    conflictingFiles: optional(Schema.Array(Schema.String)),
    integrationBranch: optional(Schema.String),
  }),
)

export const MergeFailed = defineEvent("merge.failed", Schema.Struct({ reason: Schema.String }), { mayEndRun: true })
