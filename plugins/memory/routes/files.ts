/** Export and import over HTTP. */
import { Effect, Schema } from "effect"
import type { ProjectsShape } from "#core/project/projects.ts"
import { refuse } from "#core/refusal.ts"
import { access, route } from "#core/route.ts"
import { exportMemory } from "#plugins/memory/files/export.ts"
import { importMemory } from "#plugins/memory/files/import.ts"
import type { Memory } from "#plugins/memory/memory.ts"
import { ById, type Nothing, tag } from "#plugins/memory/routes/input.ts"

const ExportAnswer = Schema.Struct({
  exported: Schema.Boolean,
  decisions: Schema.Int,
  inbox: Schema.Int,
  memories: Schema.Int,
})

const ImportAnswer = Schema.Struct({
  imported: Schema.Int,
  decisions: Schema.Int,
  memories: Schema.Int,
  sessions: Schema.Int,
  skipped: Schema.Array(Schema.Struct({ file: Schema.String, reason: Schema.String })),
})

/** The working directory of a project that is there. */
export const workingDirectoryOf = (projects: ProjectsShape) =>
  Effect.fnUntraced(function* (projectId: string) {
    const { workingDirectory, available } = yield* projects.get(projectId)
    return available ? workingDirectory : yield* refuse("workspace_unavailable")
  })

export const fileRoutes = (memory: Memory, projects: ProjectsShape) => {
  const folderOf = workingDirectoryOf(projects)
  const toFiles = exportMemory(memory)
  const fromFiles = importMemory(memory)

  const exporting = route<ById, Nothing, undefined, typeof ExportAnswer.Type>({
    method: "POST",
    path: "/api/projects/{id}/memory/export",
    access: access.project("contributor", "id", "any"),
    summary: "Write the memory to .squad/ and .svc/context/ of the project's working directory",
    tag,
    params: ById,
    answer: ExportAnswer,
    refuses: ["workspace_unavailable", "conflict"],
    handle: Effect.fn("memory.files.export")(function* ({ params }) {
      return { exported: true, ...(yield* toFiles(params.id, yield* folderOf(params.id))) }
    }),
  })

  const importing = route<ById, Nothing, undefined, typeof ImportAnswer.Type>({
    method: "POST",
    path: "/api/projects/{id}/memory/import",
    access: access.project("contributor", "id", "any"),
    summary: "Read what is new in .squad/ and .svc/context/; it waits for approval",
    tag,
    params: ById,
    answer: ImportAnswer,
    refuses: ["workspace_unavailable", "conflict"],
    handle: Effect.fn("memory.files.import")(function* ({ params, caller }) {
      const author = yield* memory.authors.ofCaller(caller)
      return yield* fromFiles(params.id, yield* folderOf(params.id), author)
    }),
  })

  return { exporting, importing }
}
