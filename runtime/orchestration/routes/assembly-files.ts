/** What was assembled, before it is merged: its files, their changes, their contents. Empty before the assembly. */
import { Effect, Schema } from "effect"
import { Checkouts } from "#core/ports/checkouts.ts"
import { redact } from "#core/redaction.ts"
import { refuse } from "#core/refusal.ts"
import { access, type Route, route } from "#core/route.ts"
import {
  checkoutRefusal,
  FileContentAnswer,
  FileDiffAnswer,
  FileEntry,
  FilesQuery,
  fileEntry,
  TreeEntry,
  treeEntry,
} from "#core/run/file-routes.ts"
import { CoordinatorStore } from "#runtime/coordinator/store.ts"

const tag = "Coordinator"
const viewer = access.run("viewer", { hidesExistence: true })

interface ById {
  readonly id: string
}
interface ByPath extends ById {
  readonly path: string
}
type None = Record<never, never>

export const assemblyFileRoutes: Effect.Effect<ReadonlyArray<Route>, never, CoordinatorStore | Checkouts> = Effect.gen(
  function* () {
    const store = yield* CoordinatorStore
    const checkouts = yield* Checkouts

    /** Undefined where nothing is assembled. */
    const assembled = Effect.fnUntraced(function* (runId: string) {
      const state = yield* store.load(runId)
      const commit = state?.plan?.assembly.commit ?? null
      if (state === undefined || commit === null) return undefined
      const { repository, originatingBranch, status } = state.run
      if (repository === null || originatingBranch === null) return undefined
      return {
        merged: status === "merged",
        comparison: checkouts.compare({ repository, from: originatingBranch, to: commit }),
      }
    })

    return [
      route<ById, typeof FilesQuery.Type, undefined, ReadonlyArray<typeof FileEntry.Type>>({
        method: "GET",
        path: "/api/runs/{id}/assembly/files",
        access: viewer,
        summary: "The files that the assembled work changes",
        tag,
        query: FilesQuery,
        answer: Schema.Array(FileEntry),
        handle: Effect.fn("assembly.files")(function* ({ params, query }) {
          const found = yield* assembled(params.id)
          if (found === undefined || query.filter === "uncommitted") return []
          const files = yield* found.comparison.files.pipe(Effect.mapError(checkoutRefusal))
          return files.map((file) => fileEntry(file, found.merged))
        }),
      }),
      route<ByPath, None, undefined, typeof FileDiffAnswer.Type>({
        method: "GET",
        path: "/api/runs/{id}/assembly/files/{**path}",
        access: viewer,
        summary: "What the assembled work changes in one file",
        tag,
        answer: FileDiffAnswer,
        handle: Effect.fn("assembly.file")(function* ({ params }) {
          const found = (yield* assembled(params.id)) ?? (yield* refuse("file_not_found"))
          const file = yield* found.comparison.fileDiff(params.path).pipe(Effect.mapError(checkoutRefusal))
          const diff = file.diff === null ? null : redact(file.diff)
          return { path: file.path, diff, status: file.status, is_binary: file.isBinary }
        }),
      }),
      route<ById, None, undefined, ReadonlyArray<typeof TreeEntry.Type>>({
        method: "GET",
        path: "/api/runs/{id}/assembly/workspace",
        access: viewer,
        summary: "All files of the assembled work, with what changed",
        tag,
        answer: Schema.Array(TreeEntry),
        handle: Effect.fn("assembly.workspace")(function* ({ params }) {
          const found = yield* assembled(params.id)
          if (found === undefined) return []
          return (yield* found.comparison.tree.pipe(Effect.mapError(checkoutRefusal))).map(treeEntry)
        }),
      }),
      route<ByPath, None, undefined, typeof FileContentAnswer.Type>({
        method: "GET",
        path: "/api/runs/{id}/assembly/content/{**path}",
        access: viewer,
        summary: "One file of the assembled work",
        tag,
        answer: FileContentAnswer,
        handle: Effect.fn("assembly.content")(function* ({ params }) {
          const found = (yield* assembled(params.id)) ?? (yield* refuse("file_not_found"))
          const file = yield* found.comparison.fileContent(params.path).pipe(Effect.mapError(checkoutRefusal))
          const content = file.content === null ? null : redact(file.content)
          return { path: file.path, content, is_binary: file.isBinary, language: file.language }
        }),
      }),
    ]
  },
)
