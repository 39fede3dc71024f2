/** GET and PUT of the policy. Whoever has a role in the project reads it; an owner sets it, whole. */
import { Effect, Result, Schema } from "effect"
import { refuse } from "#core/refusal.ts"
import { access, type Route, route } from "#core/route.ts"
import { bodyOf, PolicyBody, readPolicyBody, type SandboxPolicy } from "#core/sandbox-policy/policy.ts"
import {
  readSandboxPolicy,
  type SandboxPolicyUnreadable,
  writeSandboxPolicy,
} from "#core/sandbox-policy/stored-policy.ts"
import { makeWorkspaceOf } from "#plugins/sandbox-policy/workspace.ts"

const tag = "Sandbox policy"

const Query = Schema.Struct({ repository_path: Schema.optionalKey(Schema.String) })
const Answer = Schema.Struct({ repository_path: Schema.String, ...PolicyBody.fields })
type Answer = typeof Answer.Encoded

/** Checked member by member by the handler, so that everything that is wrong is said at once. */
const Body = Schema.Struct({
  repository_path: Schema.optionalKey(Schema.Unknown),
  ...Object.fromEntries(Object.keys(PolicyBody.fields).map((name) => [name, Schema.optionalKey(Schema.Unknown)])),
})
type Body = Readonly<Record<string, unknown>>

const answerOf = (repository_path: string, policy: SandboxPolicy): Answer => ({ repository_path, ...bodyOf(policy) })

const invalid = (details: ReadonlyArray<string>) =>
  refuse("invalid_sandbox_policy", { message: details.join("; "), extra: { details } })
const unreadable = ({ details }: SandboxPolicyUnreadable) => invalid(details)

const isDirect = (repository: string) =>
  readSandboxPolicy(repository).pipe(
    Effect.map(({ direct }) => direct),
    Effect.orElseSucceed(() => false),
  )

export const sandboxPolicyRoutes = Effect.gen(function* () {
  const workspaceOf = yield* makeWorkspaceOf
  const routes: ReadonlyArray<Route> = [
    route<Record<never, never>, typeof Query.Type, undefined, Answer>({
      method: "GET",
      path: "/api/sandbox-policy",
      access: access.authenticated,
      summary: "What commands of agents may do in a repository; the defaults where nothing was set",
      tag,
      query: Query,
      answer: Schema.toEncoded(Answer),
      refuses: ["invalid_sandbox_policy", "not_found"],
      handle: Effect.fn("sandboxPolicy.get")(function* ({ query, caller }) {
        const repository = yield* workspaceOf(query.repository_path, "query.repository_path", caller, "viewer")
        return answerOf(repository, yield* Effect.mapError(readSandboxPolicy(repository), unreadable))
      }),
    }),
    route<Record<never, never>, Record<never, never>, Body, Answer>({
      method: "PUT",
      path: "/api/sandbox-policy",
      access: access.authenticated,
      summary: "Replace the sandbox policy of a repository",
      tag,
      body: Body,
      answer: Schema.toEncoded(Answer),
      refuses: ["invalid_sandbox_policy", "not_found", "forbidden"],
      handle: Effect.fn("sandboxPolicy.put")(function* ({ body, caller }) {
        const { repository_path, ...members } = body
        const repository = yield* workspaceOf(repository_path, "body.repository_path", caller, "owner")
        const policy = yield* Effect.fromResult(Result.mapError(readPolicyBody(members), invalid))
        // without isolation a command is the service's own: not a matter of one project
        if (policy.direct && !(caller.kind === "user" && caller.platformAdmin) && !(yield* isDirect(repository))) {
          return yield* refuse("forbidden", { message: "Only a platform administrator may set direct." })
        }
        yield* Effect.mapError(writeSandboxPolicy(repository, policy), unreadable)
        return answerOf(repository, yield* Effect.mapError(readSandboxPolicy(repository), unreadable))
      }),
    }),
  ]
  return routes
})
