/**
 * `rai.review`: may this diff go on to human review? Asked before the reviewer is, so that a policy can settle it
 * without a model, and after each of its answers. A policy that cannot answer counts as red.
 */
import { Duration } from "effect"
import { decideQuestion } from "#core/hook.ts"
import { withheld } from "#policies/fields.ts"
import { RaiAnswer, RaiAsk } from "#policies/rai/model.ts"
import { raiVerdict } from "#policies/rai/verdict.ts"

/** A native policy may ask a service of its own about a large diff. */
const timeLimit = Duration.seconds(60)

export const raiReview = decideQuestion({
  name: "rai.review",
  summary: "The responsible-AI pass looks at everything that would be merged.",
  ask: RaiAsk,
  answer: RaiAnswer,
  builtIn: raiVerdict,
  safe: (_, fault): RaiAnswer => ({
    verdict: "red",
    rationale: `A policy that has to be asked could not answer: ${fault}`,
    reason: "policy_unavailable",
  }),
  closed: true,
  timeLimit,
  essence: ({ verdict }) => verdict,
  // more people read the log of a run than should see what was stopped; and asking the reviewer, nobody knows yet what it is
  kept: (ask, { verdict }) =>
    verdict === "green" || verdict === "yellow" ? ask : { ...ask, diff: withheld(ask.diff) },
})
