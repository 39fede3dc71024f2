/** Projects over HTTP. */
import { Effect, Result, Schema } from "effect"
import { subjectOf } from "#core/auth/caller.ts"
import { PageOf, pageOf, pageQuery, windowOf } from "#core/page.ts"
import { ProjectAnswer, projectAnswer } from "#core/project/answers.ts"
import { CreateProjectBody, readName, readNewProject, readProvider } from "#core/project/input.ts"
import { Projects } from "#core/project/projects.ts"
import { type Issue, refuse, refuseInput } from "#core/refusal.ts"
import { access, type Route, reply, route } from "#core/route.ts"

const tag = "Projects"

type Nothing = Record<never, never>
interface ById {
  readonly id: string
}

const model = Schema.optionalKey(Schema.NullOr(Schema.String.check(Schema.isMaxLength(200))))

const RenameBody = Schema.Struct({ name: Schema.optionalKey(Schema.NullOr(Schema.String)) })

const ProviderBody = Schema.Struct({
  default_provider: Schema.optionalKey(Schema.NullOr(Schema.String)),
  default_model_hosted: model,
  default_model_byok: model,
  blueprint_generation_model: model,
  workflow_generation_model: model,
  outcome_spec_generation_model: model,
})

const minutes = Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 1_440 }))

const PreviewSettingsBody = Schema.Struct({
  approval_timeout_minutes: minutes,
  lifetime_minutes: minutes,
  dns_convergence_timeout_seconds: Schema.Int.check(Schema.isBetween({ minimum: 60, maximum: 3_600 })),
})

/** Every other query parameter of the delete is refused too. */
const DeleteQuery = Schema.Struct({ confirm: Schema.optionalKey(Schema.String) })

const ListQuery = Schema.Struct(pageQuery)
const ProjectList = PageOf(ProjectAnswer)

const orRefuse = <A>(result: Result.Result<A, Issue>) =>
  Effect.fromResult(Result.mapError(result, (issue) => refuseInput([issue], issue.message)))

/** Empty text means the same as null: the default of the service. */
const modelOf = (value: string | null | undefined): string | null => (value?.trim() ? value.trim() : null)

export const projectRoutes: Effect.Effect<ReadonlyArray<Route>, never, Projects> = Effect.gen(function* () {
  const projects = yield* Projects
  const owner = access.project("owner")
  return [
    route<Nothing, Nothing, CreateProjectBody, typeof ProjectAnswer.Type>({
      method: "POST",
      path: "/api/projects",
      access: access.authenticated,
      summary: "Create a project on a repository; the caller becomes its owner",
      tag,
      body: CreateProjectBody,
      answer: ProjectAnswer,
      statuses: [201],
      handle: Effect.fn("projects.create")(function* ({ body, caller }) {
        const spec = yield* Effect.fromResult(readNewProject(body))
        const project = projectAnswer(yield* projects.create(spec, subjectOf(caller)))
        return reply.json(201, project, { location: `/api/projects/${project.project_id}` })
      }),
    }),
    route<Nothing, typeof ListQuery.Type, undefined, typeof ProjectList.Type>({
      method: "GET",
      path: "/api/projects",
      access: access.authenticated,
      summary: "The projects in which the caller has a role, newest first",
      tag,
      query: ListQuery,
      answer: ProjectList,
      handle: Effect.fn("projects.list")(function* ({ query, caller }) {
        const window = windowOf(query)
        const found = yield* projects.list(subjectOf(caller), window)
        return pageOf(window, found.map(projectAnswer), window.paged ? yield* projects.count(subjectOf(caller)) : 0)
      }),
    }),
    route<ById, Nothing, undefined, typeof ProjectAnswer.Type>({
      method: "GET",
      path: "/api/projects/{id}",
      access: access.project("viewer"),
      summary: "The project",
      tag,
      answer: ProjectAnswer,
      handle: ({ params }) => Effect.map(projects.get(params.id), projectAnswer),
    }),
    route<ById, Nothing, typeof RenameBody.Type>({
      method: "PATCH",
      path: "/api/projects/{id}",
      access: owner,
      summary: "Rename the project",
      tag,
      body: RenameBody,
      statuses: [204],
      handle: Effect.fn("projects.rename")(function* ({ params, body }) {
        yield* projects.rename(params.id, yield* orRefuse(readName(body.name)))
        return reply.empty()
      }),
    }),
    route<ById, Nothing, typeof ProviderBody.Type>({
      method: "PUT",
      path: "/api/projects/{id}/provider-settings",
      access: owner,
      summary: "Set the provider and the models; null or absent inherits the default of the service",
      tag,
      body: ProviderBody,
      statuses: [204],
      handle: Effect.fn("projects.provider")(function* ({ params, body }) {
        if (body.default_provider == null) {
          const message = "default_provider is required."
          return yield* refuseInput([{ path: "body.default_provider", message }], message)
        }
        yield* projects.setProvider(params.id, {
          defaultProvider: yield* orRefuse(readProvider(body.default_provider)),
          defaultModelHosted: modelOf(body.default_model_hosted),
          defaultModelByok: modelOf(body.default_model_byok),
          blueprintGenerationModel: modelOf(body.blueprint_generation_model),
          workflowGenerationModel: modelOf(body.workflow_generation_model),
          outcomeSpecGenerationModel: modelOf(body.outcome_spec_generation_model),
        })
        return reply.empty()
      }),
    }),
    route<{ projectId: string }, Nothing, typeof PreviewSettingsBody.Type, typeof PreviewSettingsBody.Type>({
      method: "PUT",
      path: "/api/projects/{projectId}/preview-settings",
      access: access.project("owner", "projectId"),
      summary: "Set how long previews wait and live",
      tag,
      body: PreviewSettingsBody,
      answer: PreviewSettingsBody,
      handle: ({ params, body }) =>
        Effect.as(
          projects.setPreview(params.projectId, {
            previewApprovalTimeoutMinutes: body.approval_timeout_minutes,
            previewLifetimeMinutes: body.lifetime_minutes,
            previewDnsConvergenceTimeoutSeconds: body.dns_convergence_timeout_seconds,
          }),
          body,
        ),
    }),
    route<ById, typeof DeleteQuery.Type>({
      method: "DELETE",
      path: "/api/projects/{id}",
      access: owner,
      summary: "Delete the project and cancel its active runs; the working directory is not touched",
      tag,
      query: DeleteQuery,
      statuses: [204],
      handle: Effect.fn("projects.delete")(function* ({ params, query, caller }) {
        if (query.confirm !== "true") return yield* refuse("confirmation_required")
        yield* projects.remove(params.id, subjectOf(caller))
        return reply.empty()
      }),
    }),
  ]
})
