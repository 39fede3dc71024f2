/** The repository that a caller names by its path: only one that is the working directory of a project of theirs. */
import { realpath } from "node:fs/promises"
import { isAbsolute, normalize } from "node:path"
import { Duration, Effect } from "effect"
import { Access } from "#core/auth/access.ts"
import type { Caller } from "#core/auth/caller.ts"
import { allows, type Role } from "#core/auth/role.ts"
import { refuse, refuseInput } from "#core/refusal.ts"
import { Sql } from "#core/sql.ts"

const maxPath = 4_096
const diskPatience = Duration.seconds(2)
/** Projects on one working directory that are looked at. */
const maxProjects = 100

const unknownWorkspace = refuse("not_found", { message: "repository_path is not a known project workspace." })

/**
 * Gives the working directory as the project has it. A path that is no project's, and one of a project in which the
 * caller has no role, look the same.
 */
export const makeWorkspaceOf = Effect.gen(function* () {
  const sql = yield* Sql
  const access = yield* Access
  return Effect.fn("sandboxPolicy.workspace")(function* (given: unknown, at: string, caller: Caller, needed: Role) {
    const path = yield* readPath(given, at)
    const real = yield* Effect.tryPromise(() => realpath(path)).pipe(
      Effect.timeout(diskPatience),
      Effect.orElseSucceed(() => path),
    )
    const projects = yield* sql<{ readonly projectId: string; readonly workingDirectory: string }>`
      select project_id as "projectId", working_directory as "workingDirectory"
        from projects
       where working_directory = any(${[path, real]}::text[]) and state = 'active'
       limit ${maxProjects}`
    let known = false
    for (const { projectId, workingDirectory } of projects) {
      const found = yield* access.project(projectId, caller)
      if (!found.exists || found.role === null) continue
      if (allows(found.role, needed)) return workingDirectory
      known = true
    }
    return yield* known ? refuse("forbidden") : unknownWorkspace
  })
})

const readPath = (given: unknown, at: string) => {
  const wrong = (message: string) => Effect.fail(refuseInput([{ path: at, message }], message))
  if (typeof given !== "string" || given.trim() === "") return wrong("repository_path is required.")
  if (!isAbsolute(given) || given.length > maxPath || /\p{Cc}/u.test(given)) {
    return wrong("repository_path must be an absolute path.")
  }
  const path = normalize(given)
  return Effect.succeed(path.length > 1 ? path.replace(/\/+$/, "") : path)
}
