/**
 * May this caller reach this run or project, and with which role? Answered from the stored record
 * only: nothing that the caller sends takes part. A sub-stream is asked for by the id of its run.
 */
import { Context, type Effect } from "effect"
import type { Caller } from "#core/auth/caller.ts"
import type { Role } from "#core/auth/role.ts"
import type { DatabaseUnavailable } from "#core/sql.ts"

export type RunAccess =
  | { readonly exists: false }
  /** `projectId` is null for a run without a project; such a run belongs to whoever submitted it. */
  | { readonly exists: true; readonly projectId: string | null; readonly role: Role | null }

export type ProjectAccess = { readonly exists: false } | { readonly exists: true; readonly role: Role | null }

export class Access extends Context.Service<
  Access,
  {
    readonly run: (runId: string, caller: Caller) => Effect.Effect<RunAccess, DatabaseUnavailable>
    readonly project: (projectId: string, caller: Caller) => Effect.Effect<ProjectAccess, DatabaseUnavailable>
  }
>()("core/Access") {}
