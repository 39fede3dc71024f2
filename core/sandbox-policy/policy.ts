/**
 * What commands of agents may do in one repository: the rules that its people set, in their names on the wire and
 * in `.svc/settings.yml`. Everything has a default; a member that nobody knows is a mistake, not a wish.
 */
import { isAbsolute } from "node:path"
import { Effect, Result, Schema, SchemaIssue } from "effect"
import { defaultPatterns } from "#core/sandbox-policy/default-patterns.ts"

const maxRoots = 20
const maxPath = 4_096
const maxPatterns = 500
/** Characters. */
const maxPattern = 500
const mebibyte = 1_048_576
const maxOutput = 100 * mebibyte

const line = (maximum: number) =>
  Schema.String.check(
    Schema.isMinLength(1),
    Schema.isMaxLength(maximum),
    Schema.isPattern(/^[^\p{Cc}\u2028\u2029]*\S[^\p{Cc}\u2028\u2029]*$/u, { expected: "one line of text" }),
  )

/** Absolute and normal, or below the repository. */
const isRoot = Schema.makeFilter<string>((path) =>
  (isAbsolute(path) || !/^[A-Za-z]:|^[\\/]/.test(path)) && !path.split(/[\\/]/).includes("..")
    ? undefined
    : "Expected a path without '..'",
)

const members = {
  shell_enabled: Schema.Boolean,
  allowed_repository_roots: Schema.Array(line(maxPath).check(isRoot)).check(Schema.isMaxLength(maxRoots)),
  destructive_command_patterns: Schema.Array(line(maxPattern)).check(Schema.isMaxLength(maxPatterns)),
  require_approval_for_all_shell: Schema.Boolean,
  redact_pii: Schema.Boolean,
  max_output_bytes: Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: maxOutput })),
}

const otherwise = <S extends Schema.Top>(schema: S, value: S["Encoded"]) =>
  Schema.withDecodingDefaultKey(Effect.succeed(value))(schema)

/** Not in the interface's own list: off where they are not sent. */
const more = {
  direct: otherwise(Schema.Boolean, false),
  network_enabled: otherwise(Schema.Boolean, false),
}

/** As the interface has it: every member has to be there. */
export const PolicyBody = Schema.Struct({ ...members, ...more }).annotate({ identifier: "SandboxPolicy" })
export type PolicyBody = typeof PolicyBody.Type

/** As a file has it: what is left out has its default. */
const PolicySection = Schema.Struct({
  shell_enabled: otherwise(members.shell_enabled, true),
  allowed_repository_roots: otherwise(members.allowed_repository_roots, []),
  destructive_command_patterns: otherwise(members.destructive_command_patterns, [...defaultPatterns]),
  require_approval_for_all_shell: otherwise(members.require_approval_for_all_shell, false),
  redact_pii: otherwise(members.redact_pii, true),
  max_output_bytes: otherwise(members.max_output_bytes, 4 * mebibyte),
  ...more,
})

export interface SandboxPolicy {
  /** Where false, agents do not have `run_command`. */
  readonly shellEnabled: boolean
  /** More that a command may read: below the repository, or absolute. */
  readonly allowedRepositoryRoots: ReadonlyArray<string>
  readonly destructiveCommandPatterns: ReadonlyArray<string>
  readonly requireApprovalForAllShell: boolean
  readonly redactPii: boolean
  /** Bytes of the output of one command. */
  readonly maxOutputBytes: number
  /** Commands may run without isolation where there is none. */
  readonly direct: boolean
  readonly networkEnabled: boolean
}

export const policyOf = (body: PolicyBody): SandboxPolicy => ({
  shellEnabled: body.shell_enabled,
  allowedRepositoryRoots: body.allowed_repository_roots,
  destructiveCommandPatterns: body.destructive_command_patterns,
  requireApprovalForAllShell: body.require_approval_for_all_shell,
  redactPii: body.redact_pii,
  maxOutputBytes: body.max_output_bytes,
  direct: body.direct,
  networkEnabled: body.network_enabled,
})

export const bodyOf = (policy: SandboxPolicy): PolicyBody => ({
  shell_enabled: policy.shellEnabled,
  allowed_repository_roots: policy.allowedRepositoryRoots,
  destructive_command_patterns: policy.destructiveCommandPatterns,
  require_approval_for_all_shell: policy.requireApprovalForAllShell,
  redact_pii: policy.redactPii,
  max_output_bytes: policy.maxOutputBytes,
  direct: policy.direct,
  network_enabled: policy.networkEnabled,
})

const options = { errors: "all", onExcessProperty: "error" } as const
const details = SchemaIssue.makeFormatterStandardSchemaV1()

const reader =
  (schema: Schema.Codec<PolicyBody, unknown>) =>
  (value: unknown): Result.Result<SandboxPolicy, ReadonlyArray<string>> =>
    Schema.decodeUnknownResult(schema)(value, options).pipe(
      Result.map(policyOf),
      Result.mapError(({ issue }) =>
        details(issue).issues.map(({ path, message }) => `${path?.map(String).join(".") || "policy"}: ${message}`),
      ),
    )

/** The whole policy, or everything that is wrong with it. */
export const readPolicyBody = reader(PolicyBody)
/** The same for the section of a file; `{}` is the default policy. */
export const readPolicySection = reader(PolicySection)

export const defaultPolicy: SandboxPolicy = Result.getOrThrow(readPolicySection({}))
