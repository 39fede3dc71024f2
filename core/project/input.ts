/** What may be sent to create a project, checked as far as it can be without looking at the disk. */
import { isAbsolute } from "node:path"
import { Result, Schema } from "effect"
import { type Blueprint, readBlueprint } from "#core/project/blueprint.ts"
import { type Origin, origins, type Provider, providers } from "#core/project/project.ts"
import { type Issue, type Refusal, refuse, refuseInput } from "#core/refusal.ts"

/** Characters. */
const maxName = 200
const maxPath = 4_096
const maxModel = 200
const maxWorkflowYaml = 262_144

const text = (maximum: number) => Schema.optionalKey(Schema.NullOr(Schema.String.check(Schema.isMaxLength(maximum))))

/** Where a repository comes from is named by the selection code alone: these are refused, not ignored. */
const forbidden = [
  "source_repository",
  "repository",
  "repository_url",
  "repository_id",
  "repository_owner",
  "repository_name",
  "full_name",
  "clone_url",
  "url",
  "owner",
  "repo",
  "installation_id",
  "token",
  "access_token",
  "permissions",
] as const

const refusedFields = Object.fromEntries(forbidden.map((name) => [name, Schema.optionalKey(Schema.Unknown)])) as Record<
  (typeof forbidden)[number],
  Schema.optionalKey<typeof Schema.Unknown>
> // fromEntries loses the names

/** Wide on purpose: what is missing or wrong is told in the words of the interface. */
export const CreateProjectBody = Schema.Struct({
  name: text(maxName),
  origin: text(20),
  working_directory: text(maxPath),
  repository_selection_code: text(200),
  default_provider: text(20),
  default_model_hosted: text(maxModel),
  default_model_byok: text(maxModel),
  blueprint_id: text(200),
  blueprint: Schema.optionalKey(Schema.NullOr(Schema.Record(Schema.String, Schema.Unknown))),
  generated_workflow_yaml: text(maxWorkflowYaml),
  ...refusedFields,
})
export type CreateProjectBody = typeof CreateProjectBody.Type

export interface NewProject {
  readonly name: string
  readonly origin: Origin
  readonly workingDirectory: string
  readonly selectionCode: string | null
  readonly defaultProvider: Provider
  readonly defaultModelHosted: string | null
  readonly defaultModelByok: string | null
  readonly blueprint: Blueprint | null
  readonly generatedWorkflowYaml: string | null
}

/** 32 random bytes in base64url. */
const selectionCode = /^[A-Za-z0-9_-]{43}$/

/** Printable text of one line. */
const isClean = (value: string): boolean => !/[\p{Cc}\p{Cs}\u2028\u2029]/u.test(value)

export const readName = (value: string | null | undefined): Result.Result<string, Issue> => {
  const name = value?.trim() ?? ""
  if (name === "") return Result.fail({ path: "body.name", message: "name is required." })
  return isClean(name) && name.length <= maxName
    ? Result.succeed(name)
    : Result.fail({ path: "body.name", message: `name must be one line of at most ${maxName} characters.` })
}

export const readProvider = (value: string | null | undefined): Result.Result<Provider, Issue> => {
  const provider = providers.find((known) => known === (value ?? "hosted"))
  return provider === undefined
    ? Result.fail({ path: "body.default_provider", message: "default_provider must be 'hosted' or 'byok'." })
    : Result.succeed(provider)
}

/** The project to be made, or everything that is wrong with the request at once. */
export const readNewProject = (body: CreateProjectBody): Result.Result<NewProject, Refusal> => {
  const issues: Array<Issue> = []
  const wrong = (field: string, message: string): void => void issues.push({ path: `body.${field}`, message })
  const take = <A>(result: Result.Result<A, Issue>, otherwise: A): A => {
    if (Result.isSuccess(result)) return result.success
    issues.push(result.failure)
    return otherwise
  }
  const name = take(readName(body.name), "")
  const origin = origins.find((known) => known === body.origin)
  if (origin === undefined) wrong("origin", "origin must be 'blank' or 'remote'.")
  const workingDirectory = body.working_directory?.trim() ?? ""
  if (workingDirectory === "") wrong("working_directory", "working_directory is required.")
  else if (!isAbsolute(workingDirectory) || !isClean(workingDirectory)) {
    wrong("working_directory", "working_directory must be an absolute path.")
  }
  for (const field of forbidden) {
    if (body[field] != null) wrong(field, `${field} is not accepted: send a repository_selection_code.`)
  }
  const code = body.repository_selection_code ?? null
  if (origin === "remote" && code === null) {
    wrong("repository_selection_code", "repository_selection_code is required when origin is 'remote'.")
  } else if (origin === "blank" && code !== null) {
    wrong("repository_selection_code", "repository_selection_code is only for origin 'remote'.")
  } else if (code !== null && !selectionCode.test(code)) {
    wrong("repository_selection_code", "repository_selection_code is not a selection code.")
  }
  const provider = take(readProvider(body.default_provider), "hosted")
  if (body.blueprint_id != null && body.blueprint != null) {
    wrong("blueprint", "Provide either blueprint_id or an inline blueprint, not both.")
  } else if (body.blueprint_id != null) {
    wrong("blueprint_id", `No predefined blueprint with id '${body.blueprint_id}'.`)
  }
  if (issues.length > 0) return Result.fail(refuseInput(issues, issues.map((issue) => issue.message).join(" ")))
  const blueprint = body.blueprint == null ? Result.succeed(null) : readBlueprint(body.blueprint)
  if (Result.isFailure(blueprint)) {
    return Result.fail(refuse("invalid_blueprint", { extra: { details: blueprint.failure } }))
  }
  return Result.succeed({
    name,
    origin: origin ?? "blank",
    workingDirectory,
    selectionCode: code,
    defaultProvider: provider,
    defaultModelHosted: body.default_model_hosted ?? null,
    defaultModelByok: body.default_model_byok ?? null,
    blueprint: blueprint.success,
    generatedWorkflowYaml: body.generated_workflow_yaml ?? null,
  })
}
