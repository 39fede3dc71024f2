/**
 * The review policy of a project: which reviews a change passes before it is merged. It is a file of the repository,
 * read from the branch that the run began at, so that no agent changes the policy of its own work. It can ask for more
 * and never for less: the responsible-AI pass, Build & Test and a person are always asked.
 */
import { Effect, Result, Schema } from "effect"
import { parse } from "yaml"
import { Checkouts } from "#core/ports/checkouts.ts"
import { Sql } from "#core/sql.ts"
import type { Gate } from "#runtime/coordinator/state.ts"
import { WorldFailed } from "#runtime/coordinator/world.ts"

export const policyFolder = ".svc/review-policies"

/** Where a project names none. Without a file of this name it is the built-in one. */
export const defaultPolicy = "default"

const nameForm = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/

const Text = Schema.String.check(Schema.isMaxLength(1_000))

export const ReviewPolicy = Schema.Struct({
  name: Schema.String.check(Schema.isPattern(nameForm)),
  description: Schema.optionalKey(Schema.NullOr(Text)),
  steps: Schema.Array(
    Schema.Struct({
      kind: Schema.Literals(["rai", "rubberduck", "human-review"]),
      label: Schema.optionalKey(Schema.NullOr(Text)),
    }),
  ).check(Schema.isMinLength(1), Schema.isMaxLength(20)),
})
export type ReviewPolicy = typeof ReviewPolicy.Type

export const builtInPolicy: ReviewPolicy = {
  name: defaultPolicy,
  steps: [{ kind: "rai" }, { kind: "human-review" }],
}

const decode = Schema.decodeUnknownResult(ReviewPolicy, { errors: "all", onExcessProperty: "error" })

/** The policy of a file, or what is wrong with it. */
export const readPolicy = (name: string, text: string): Result.Result<ReviewPolicy, string> => {
  const parsed = Result.try(() => parse(text, { maxAliasCount: 0 }) as unknown)
  if (Result.isFailure(parsed)) return Result.fail("It is not valid YAML.")
  return Result.flatMap(
    Result.mapError(decode(parsed.success), ({ message }) => message),
    (policy) =>
      policy.name === name
        ? Result.succeed(policy)
        : Result.fail(`Its name is ${policy.name}, and its file's ${name}.`),
  )
}

/** In the order in which they are asked: what is cheap and what may stop the whole comes first. */
export const gatesOf = ({ steps }: ReviewPolicy): ReadonlyArray<Gate> => [
  "rai",
  "build-test",
  ...(steps.some(({ kind }) => kind === "rubberduck") ? (["rubberduck"] as const) : []),
]

const broken = (name: string, message: string): WorldFailed =>
  new WorldFailed({
    reason: "policy_hook_failed",
    message: `The review policy ${name} cannot be used. ${message}`.slice(0, 2_000),
    retryable: false,
  })

/** A policy that is named and cannot be read fails the run: nothing is merged past a review that was asked for. */
export const reviewPolicyOf = Effect.fn("orchestration.reviewPolicy")(function* (
  projectId: string | null,
  { repository, branch }: { readonly repository: string; readonly branch: string },
) {
  const sql = yield* Sql
  const checkouts = yield* Checkouts
  const [project] = yield* sql<{ readonly name: string | null }>`
    select blueprint ->> 'review_policy' as name from projects where project_id = ${projectId}`
  const name = project?.name ?? defaultPolicy
  if (!nameForm.test(name)) return yield* broken(JSON.stringify(name), "This is no name of a policy.")
  const { fileContent } = checkouts.compare({ repository, from: branch, to: branch })
  for (const path of [`${policyFolder}/${name}.yaml`, `${policyFolder}/${name}.yml`]) {
    const found = yield* fileContent(path).pipe(
      Effect.map(({ content }) => content ?? ""),
      Effect.catchIf(
        ({ kind }) => kind === "not_found",
        () => Effect.succeed(null),
      ),
    )
    if (found === null) continue
    const policy = readPolicy(name, found)
    return Result.isSuccess(policy) ? policy.success : yield* broken(name, `${path}: ${policy.failure}`)
  }
  return name === defaultPolicy ? builtInPolicy : yield* broken(name, `There is no ${policyFolder}/${name}.yaml.`)
})
