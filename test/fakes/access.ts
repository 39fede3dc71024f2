/** `Access` over two maps: which runs and projects exist, and who has which role in them. */
import { Effect, Layer } from "effect"
import { Access, type ProjectAccess, type RunAccess } from "#core/auth/access.ts"
import { subjectOf } from "#core/auth/caller.ts"
import type { Role } from "#core/auth/role.ts"

export interface AccessTable {
  /** Run id → its project and the roles by subject. */
  readonly runs?: Record<string, { readonly projectId?: string; readonly roles: Record<string, Role> }>
  /** Project id → the roles by subject. */
  readonly projects?: Record<string, Record<string, Role>>
}

export const accessFake = (table: AccessTable): Access["Service"] => ({
  run: (runId, caller) =>
    Effect.sync((): RunAccess => {
      const run = table.runs?.[runId]
      return run === undefined
        ? { exists: false }
        : { exists: true, projectId: run.projectId ?? null, role: run.roles[subjectOf(caller)] ?? null }
    }),
  project: (projectId, caller) =>
    Effect.sync((): ProjectAccess => {
      const roles = table.projects?.[projectId]
      return roles === undefined ? { exists: false } : { exists: true, role: roles[subjectOf(caller)] ?? null }
    }),
})

export const layerAccessFake = (table: AccessTable): Layer.Layer<Access> => Layer.succeed(Access, accessFake(table))
