/** What a run changed: the tree, the list of files, one file. Whoever may not see the run learns nothing: 404. */
import { Effect, Schema } from "effect"
import type { ChangeFilter, CheckoutFailed, Checkouts, FileChange, TreeNode } from "#core/ports/checkouts.ts"
import { redact } from "#core/redaction.ts"
import { type Refusal, refuse } from "#core/refusal.ts"
import { access, type Route, route } from "#core/route.ts"
import type { Run } from "#core/run/run.ts"
import { Runs } from "#core/run/runs.ts"
import { makeShownWork, type ShownWork } from "#core/run/shown-work.ts"
import { diffStatuses } from "#core/run/status.ts"

const tag = "Runs"
const viewer = access.run("viewer", { hidesExistence: true })

interface ById {
  readonly id: string
}
interface ByPath extends ById {
  readonly path: string
}

const filters = ["all", "committed", "uncommitted", "last-commit"] as const satisfies ReadonlyArray<ChangeFilter>
export const FilesQuery = Schema.Struct({ filter: Schema.optionalKey(Schema.Literals(filters)) })

export const FileEntry = Schema.Struct({
  path: Schema.String,
  status: Schema.Literals(["added", "modified", "deleted"]),
  scope: Schema.Literals(["committed", "uncommitted", "merged"]),
  added_lines: Schema.Int,
  removed_lines: Schema.Int,
})

export const FileDiffAnswer = Schema.Struct({
  path: Schema.String,
  diff: Schema.NullOr(Schema.String),
  status: Schema.String,
  is_binary: Schema.Boolean,
})

export const FileContentAnswer = Schema.Struct({
  path: Schema.String,
  content: Schema.NullOr(Schema.String),
  is_binary: Schema.Boolean,
  language: Schema.NullOr(Schema.String),
})

export const TreeEntry = Schema.Struct({
  path: Schema.String,
  is_folder: Schema.Boolean,
  status: Schema.NullOr(Schema.String),
  added_lines: Schema.Int,
  removed_lines: Schema.Int,
})

export const treeEntry = (node: TreeNode): typeof TreeEntry.Type => ({
  path: node.path,
  is_folder: node.isFolder,
  status: node.status,
  added_lines: node.addedLines,
  removed_lines: node.removedLines,
})

export const fileEntry = (file: FileChange, merged: boolean): typeof FileEntry.Type => ({
  path: file.path,
  status: file.status,
  scope: merged && file.scope === "committed" ? "merged" : file.scope,
  added_lines: file.addedLines,
  removed_lines: file.removedLines,
})

/** The failure of a checkout, for whoever asked to see it. */
export const checkoutRefusal = ({ kind, message }: CheckoutFailed): Refusal => {
  switch (kind) {
    case "not_found":
      return refuse("file_not_found", { message })
    case "invalid":
      return refuse("invalid_request", { message })
    case "too_large":
      return refuse("payload_too_large", { message })
    default:
      return refuse("worktree_unavailable", { message })
  }
}

/** A file request ends in `/content` where the content is wanted, and not what changed. */
const contentSuffix = "/content"

/** Work that failed may hold what should not be shown. */
const mayShowDiff = (run: Run): boolean => diffStatuses.includes(run.status) || run.endedAt === null
const mayShowContent = (run: Run): boolean => run.status !== "failed" && run.status !== "cancelled"

export const fileRoutes: Effect.Effect<ReadonlyArray<Route>, never, Runs | Checkouts> = Effect.gen(function* () {
  const runs = yield* Runs
  const workOf = yield* makeShownWork

  const shown = <A>(effect: Effect.Effect<A, CheckoutFailed>) => Effect.mapError(effect, checkoutRefusal)

  const open = Effect.fnUntraced(function* (runId: string) {
    const run = yield* runs.get(runId)
    const work = yield* shown(workOf(run))
    return work === undefined ? undefined : { run, work }
  })

  const contentOf = Effect.fnUntraced(function* (run: Run, work: ShownWork, path: string) {
    const file = yield* work.fileContent(path)
    const content = file.content === null || !mayShowContent(run) ? null : redact(file.content)
    return { path: file.path, content, is_binary: file.isBinary, language: file.language }
  })

  const diffOf = Effect.fnUntraced(function* (run: Run, work: ShownWork, path: string) {
    const file = yield* work.fileDiff(path)
    const diff = file.diff === null || !mayShowDiff(run) ? null : redact(file.diff)
    return { path: file.path, diff, status: file.status, is_binary: file.isBinary }
  })

  return [
    route<ById, Record<never, never>, undefined, ReadonlyArray<typeof TreeEntry.Type>>({
      method: "GET",
      path: "/api/runs/{id}/workspace",
      access: viewer,
      summary: "The files of the run's checkout, with what changed",
      tag,
      answer: Schema.Array(TreeEntry),
      handle: Effect.fn("files.workspace")(function* ({ params }) {
        const found = yield* open(params.id)
        return found === undefined ? [] : (yield* shown(found.work.tree)).map(treeEntry)
      }),
    }),
    route<ById, typeof FilesQuery.Type, undefined, ReadonlyArray<typeof FileEntry.Type>>({
      method: "GET",
      path: "/api/runs/{id}/files",
      access: viewer,
      summary: "The changed files: all, committed, uncommitted, or those of the last commit",
      tag,
      query: FilesQuery,
      answer: Schema.Array(FileEntry),
      handle: Effect.fn("files.list")(function* ({ params, query }) {
        const found = yield* open(params.id)
        if (found === undefined) return []
        const merged = found.run.status === "merged"
        const files = yield* shown(found.work.files(query.filter ?? "all"))
        return files.map((file) => fileEntry(file, merged))
      }),
    }),
    route<ByPath, Record<never, never>, undefined, typeof FileDiffAnswer.Type | typeof FileContentAnswer.Type>({
      method: "GET",
      path: "/api/runs/{id}/files/{**path}",
      access: viewer,
      summary: "What changed in one file; with `/content` at the end, the file as it is",
      tag,
      answer: Schema.Union([FileDiffAnswer, FileContentAnswer]),
      handle: Effect.fn("files.one")(function* ({ params }) {
        const found = yield* open(params.id)
        if (found === undefined) return yield* refuse("file_not_found")
        const { run, work } = found
        const diff = diffOf(run, work, params.path)
        if (!params.path.endsWith(contentSuffix)) return yield* shown(diff)
        const content = contentOf(run, work, params.path.slice(0, -contentSuffix.length))
        // a file of the name `content` is in no file, but in a folder
        return yield* shown(
          Effect.catchIf(
            content,
            ({ kind }) => kind === "not_found",
            () => diff,
          ),
        )
      }),
    }),
  ]
})
