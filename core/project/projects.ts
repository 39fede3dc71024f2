/**
 * Projects: made, found, changed, deleted. Whoever creates one is its owner. A delete survives a crash in
 * its middle: the project is `deleting` first, and `finishDeletes` ends it at the next start. The working directory
 * and its history are never touched.
 */
import { sep } from "node:path"
import { Context, Effect, Layer } from "effect"
import { newId } from "#core/ids.ts"
import { Repository } from "#core/ports/repository.ts"
import type { NewProject } from "#core/project/input.ts"
import type { PreviewSettings, Project, ProjectModels, Provider } from "#core/project/project.ts"
import { makeProjectStore } from "#core/project/store.ts"
import { type Refusal, refuse, refuseInput } from "#core/refusal.ts"
import { Runs } from "#core/run/runs.ts"
import { Settings } from "#core/settings.ts"
import { type DatabaseUnavailable, Sql } from "#core/sql.ts"

/** Disks that are asked at once whether a working directory is there. */
const diskChecks = 4
/** Recorded where a repository has no branch checked out. */
const detached = "HEAD"

type Answer<A> = Effect.Effect<A, Refusal | DatabaseUnavailable>

export type VisibleProject = Project & {
  /** Is the working directory there, now? */
  readonly available: boolean
}

export interface ProjectsShape {
  readonly create: (project: NewProject, owner: string) => Answer<VisibleProject>
  /** A repository that runs may work on, by its path; refuses one that is not there or not allowed. `field` names the input. */
  readonly workspace: (
    path: string,
    field: string,
  ) => Answer<{ readonly realPath: string; readonly defaultBranch: string }>
  readonly get: (projectId: string) => Answer<VisibleProject>
  /** Projects in which `principal` has a role, newest first. */
  readonly list: (
    principal: string,
    window: { readonly limit: number; readonly offset: number },
  ) => Effect.Effect<ReadonlyArray<VisibleProject>, DatabaseUnavailable>
  readonly count: (principal: string) => Effect.Effect<number, DatabaseUnavailable>
  readonly rename: (projectId: string, name: string) => Answer<void>
  /** Members that are absent stay as they are; null inherits the default of the service. */
  readonly setProvider: (
    projectId: string,
    settings: Partial<ProjectModels> & { readonly defaultProvider: Provider },
  ) => Answer<void>
  readonly setPreview: (projectId: string, settings: PreviewSettings) => Answer<void>
  /** Cancels the active runs, then removes the record. */
  readonly remove: (projectId: string, by: string) => Answer<void>
  /** Finishes deletes that were cut off. For the start of the service. */
  readonly finishDeletes: Effect.Effect<void, DatabaseUnavailable>
}

export class Projects extends Context.Service<Projects, ProjectsShape>()("core/Projects") {
  static readonly layer = Layer.effect(
    Projects,
    Effect.gen(function* () {
      const sql = yield* Sql
      const runs = yield* Runs
      const repository = yield* Repository
      const { AllowedRepositoryRoots: roots } = (yield* Settings).Runs
      const store = makeProjectStore(sql)

      const seen = (project: Project) =>
        Effect.map(repository.isFolder(project.workingDirectory), (available) => ({ ...project, available }))

      const insideRoots = Effect.fnUntraced(function* (realPath: string) {
        if (roots.length === 0) return true
        const real = yield* Effect.forEach(roots, repository.realPath)
        return real.some((root) => realPath === root || realPath.startsWith(root.endsWith(sep) ? root : root + sep))
      })

      /** The branch of the repository in `path`, or why it cannot be a working directory. */
      const inspect = Effect.fnUntraced(function* (path: string, field = "working_directory") {
        const wrong = (message: string) => refuseInput([{ path: `body.${field}`, message }], message)
        const { realPath, isRepository, defaultBranch } = yield* repository.inspect(path)
        if (realPath === null) return yield* wrong("Repository path does not exist.")
        // first the place, so that nothing is told of what lies outside
        if (!(yield* insideRoots(realPath))) return yield* wrong(`${field} is not in an allowed folder.`)
        if (!isRepository) return yield* wrong(`${field} is not the top folder of a git repository.`)
        return { realPath, defaultBranch: defaultBranch ?? detached }
      })

      /** A change that found no row: there is no such project, or it is being deleted. */
      const changed = Effect.fnUntraced(function* (projectId: string, rows: number) {
        if (rows > 0) return
        return yield* (yield* store.find(projectId)) === undefined
          ? refuse("project_not_found")
          : refuse("project_deleting")
      })

      const finishDelete = Effect.fnUntraced(function* (projectId: string, by: string) {
        // no run can be added any more: a new run needs an active project
        for (const runId of yield* runs.activeOfProject(projectId)) {
          yield* runs
            .cancel(runId, { reason: "project_deleted", by })
            .pipe(Effect.catchTag("Refusal", () => Effect.void))
        }
        yield* store.remove(projectId)
      })

      const finishDeletes = Effect.gen(function* () {
        for (const project of yield* store.deleting) yield* finishDelete(project.projectId, project.owner)
      })

      return Projects.of({
        create: Effect.fn("Projects.create")(function* (spec: NewProject, owner: string) {
          if (spec.origin === "remote") {
            return yield* refuse("not_implemented", {
              message: "Projects with origin 'remote' need the connector to the code host, which is not configured.",
            })
          }
          const { realPath, defaultBranch } = yield* inspect(spec.workingDirectory)
          const projectId = newId()
          const project = yield* sql.transaction(
            store.insert(
              { ...spec, workingDirectory: realPath },
              { projectId, owner, defaultBranch, assignmentId: newId() },
            ),
          )
          return { ...project, available: true }
        }),
        workspace: Effect.fn("Projects.workspace")(inspect),
        get: Effect.fn("Projects.get")(function* (projectId: string) {
          return yield* seen((yield* store.find(projectId)) ?? (yield* refuse("project_not_found")))
        }),
        list: Effect.fn("Projects.list")(function* (principal: string, window) {
          return yield* Effect.forEach(yield* store.list(principal, window), seen, { concurrency: diskChecks })
        }),
        count: store.count,
        rename: Effect.fn("Projects.rename")(function* (projectId: string, name: string) {
          yield* changed(projectId, yield* store.rename(projectId, name))
        }),
        setProvider: Effect.fn("Projects.setProvider")(function* (projectId: string, settings) {
          yield* changed(projectId, yield* store.setProvider(projectId, settings))
        }),
        setPreview: Effect.fn("Projects.setPreview")(function* (projectId: string, settings: PreviewSettings) {
          yield* changed(projectId, yield* store.setPreview(projectId, settings))
        }),
        remove: Effect.fn("Projects.remove")(function* (projectId: string, by: string) {
          if ((yield* store.markDeleting(projectId)) === 0) return yield* refuse("project_not_found")
          yield* finishDelete(projectId, by)
        }),
        finishDeletes,
      })
    }),
  )
}
