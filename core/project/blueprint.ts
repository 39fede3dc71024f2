/** An inline blueprint as a project is created with it: its shape only. Whether its roles and workflows exist is asked later. */
import { Result, Schema, SchemaIssue } from "effect"

const short = Schema.String.check(Schema.isMinLength(1), Schema.isMaxLength(200))
const names = Schema.Array(short).check(Schema.isMaxLength(100))
const optional = <S extends Schema.Top>(schema: S) => Schema.optionalKey(Schema.NullOr(schema))

/** Characters of a charter. */
const maxCharter = 20_000

export const BespokeRole = Schema.Struct({
  id: short,
  title: short,
  charter: Schema.String.check(Schema.isMinLength(1), Schema.isMaxLength(maxCharter)),
})

export const Blueprint = Schema.Struct({
  id: optional(short),
  name: optional(short),
  description: optional(Schema.String.check(Schema.isMaxLength(4_000))),
  roster: optional(names),
  /** The older way to name one workflow. */
  workflow: optional(short),
  workflows: optional(names),
  review_policy: optional(short),
  sandbox_profile: optional(short),
  bespoke_roles: optional(Schema.Array(BespokeRole).check(Schema.isMaxLength(100))),
})
export type Blueprint = typeof Blueprint.Type

const decode = Schema.decodeUnknownResult(Blueprint, { errors: "all" })
const format = SchemaIssue.makeFormatterStandardSchemaV1()

/** The blueprint, or what is wrong with it, one text per problem. */
export const readBlueprint = (input: unknown): Result.Result<Blueprint, ReadonlyArray<string>> => {
  const decoded = Result.mapError(decode(input), (error) =>
    format(error.issue).issues.map(
      (issue) => `${(issue.path ?? []).map(String).join(".") || "blueprint"}: ${issue.message}`,
    ),
  )
  return Result.flatMap(decoded, (blueprint) => {
    const roster = new Set(blueprint.roster ?? [])
    const strangers = (blueprint.bespoke_roles ?? []).filter((role) => !roster.has(role.id))
    return strangers.length === 0
      ? Result.succeed(blueprint)
      : Result.fail(strangers.map((role) => `bespoke_roles: '${role.id}' is not in the roster`))
  })
}

/** The workflows it permits; null where it names none. */
export const workflowsOf = (blueprint: Blueprint): ReadonlyArray<string> | null =>
  blueprint.workflows ?? (blueprint.workflow == null ? null : [blueprint.workflow])
