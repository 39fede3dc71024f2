/**
 * What a run's log keeps of policies: who decided what, on which question, and who could not.
 *
 * A decision keeps the question itself, so that another policy can be asked the same again. Secrets are taken
 * out of whatever is stored, long texts are cut, and what was stopped is withheld: where that changed the question,
 * `input_complete` is false, and only who has the rest can check the decision by asking again. `input_hash` is
 * always that of the question as it was asked.
 */
import { Schema } from "effect"
import { defineEvent } from "#core/event.ts"
import { faultReasons, modes } from "#core/hook/handler.ts"

/** Stands for the service itself where a plugin would be named. */
export const builtInPolicy = "built-in"

const author = {
  plugin: Schema.String,
  version: Schema.NullOr(Schema.String),
  /** `sha256:` and the digest of the module; null for code of this process. */
  digest: Schema.NullOr(Schema.String),
  abi: Schema.NullOr(Schema.Int),
}

const measured = {
  fuel: Schema.NullOr(Schema.Finite),
  duration_ms: Schema.Finite,
  /**
   * Where a policy called hosts or read what it had kept: how often, and a digest of what was asked and answered. The answers are not kept:
   * such a decision cannot be checked by asking again.
   */
  io: Schema.optionalKey(Schema.Struct({ calls: Schema.Int, digest: Schema.String })),
}

export const PolicyDecision = defineEvent(
  "policy.decision",
  Schema.Struct({
    question: Schema.String,
    kind: Schema.Literals(["decide", "guard", "refine"]),
    ...author,
    input: Schema.Unknown,
    input_hash: Schema.String,
    input_complete: Schema.Boolean,
    /** The answer that counts. */
    answer: Schema.Unknown,
    ...measured,
    /** The others that were asked, in order: guards that allowed it, and those without an opinion (null). */
    consulted: Schema.Array(Schema.Struct({ ...author, answer: Schema.Unknown, ...measured })),
  }),
)

export const PolicyFault = defineEvent(
  "policy.fault",
  Schema.Struct({
    question: Schema.String,
    ...author,
    mode: Schema.Literals(modes),
    reason: Schema.Literals(faultReasons),
    message: Schema.String,
    input_hash: Schema.String,
    ...measured,
  }),
)

/** What a policy that is only watched would have said. */
export const PolicyShadow = defineEvent(
  "policy.shadow",
  Schema.Struct({
    question: Schema.String,
    policy: Schema.String,
    version: Schema.NullOr(Schema.String),
    digest: Schema.NullOr(Schema.String),
    abi: Schema.NullOr(Schema.Int),
    input_hash: Schema.String,
    /** Null: no opinion. */
    decision: Schema.Unknown,
    agrees: Schema.Boolean,
    ...measured,
  }),
)

export const policyEvents = [PolicyDecision, PolicyFault, PolicyShadow] as const
