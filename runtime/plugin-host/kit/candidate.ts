/**
 * A policy that is asked without being installed: in the instance, with the limits and by the schemas of production. Every reply is a
 * value. It answers the same for the same question and settings, however often it is asked.
 */
import { Effect, Result, Schema } from "effect"
import { canonicalJson } from "#core/canonical-json.ts"
import type { AnyQuestion } from "#core/hook.ts"
import { openBuilt } from "#runtime/plugin-host/kit/build.ts"
import type { KitFailed } from "#runtime/plugin-host/kit/failed.ts"
import { type PlayedCall, playIo } from "#runtime/plugin-host/kit/played-io.ts"
import { type Budget, callLimits } from "#runtime/plugin-host/packages/budget.ts"
import type { Manifest, ManifestWorld } from "#runtime/plugin-host/packages/manifest.ts"
import { abi } from "#runtime/plugin-host/packages/manifest-schema.ts"
import type { Admitted } from "#runtime/plugin-host/wasm/admission.ts"
import type { LogLine } from "#runtime/plugin-host/wasm/policy-call.ts"
import { Policy } from "#runtime/plugin-host/wasm/policy-instance.ts"

interface Measured {
  readonly fuel: number
  /** How often it called a host or used what it keeps: the answer is not what it would be in a service. */
  readonly io: number
  readonly logs: ReadonlyArray<LogLine>
}

export type Reply = Measured &
  (
    | {
        readonly kind: "answered"
        /** Decoded by the question's schema. */
        readonly answer: unknown
        /** Canonical JSON of the answer, as svc would keep it. */
        readonly text: string
      }
    | { readonly kind: "no opinion"; readonly text: "null" }
    | { readonly kind: "fault"; readonly reason: string; readonly message: string }
  )

export interface Candidate {
  readonly name: string
  readonly version: string
  /** `sha256:` and the digest of the module. */
  readonly digest: string
  readonly abi: number
  readonly limits: Budget
  readonly answers: (question: string) => boolean
  /** `played`: what it is answered where it calls a host or uses what it keeps. Whatever else it asks is not served. */
  readonly ask: (
    question: AnyQuestion,
    input: string,
    config?: ReadonlyMap<string, string>,
    played?: ReadonlyArray<PlayedCall>,
  ) => Reply
}

/** From a folder that was built, or a package. `world`: where it is installed; else any service of this version. */
export const openCandidate = (path: string, world?: ManifestWorld): Effect.Effect<Candidate, KitFailed> =>
  Effect.flatMap(openBuilt(path, world), ({ found, admitted }) => candidateOf(found.manifest, admitted))

export const candidateOf = (manifest: Manifest, admitted: Admitted, limits: Budget = manifest.limits) =>
  Effect.map(Policy.load(admitted, callLimits(limits)), (policy): Candidate => {
    const functions: ReadonlyMap<string, string> = new Map(Object.entries(manifest.hooks))
    return {
      name: manifest.name,
      version: manifest.version,
      digest: `sha256:${admitted.sha256}`,
      abi,
      limits,
      answers: (question) => functions.has(question),
      ask: (question, input, config, played) =>
        ask(policy, functions.get(question.name), question, input, config, played),
    }
  })

const ask = (
  policy: Policy,
  exported: string | undefined,
  question: AnyQuestion,
  input: string,
  config: ReadonlyMap<string, string> = new Map(),
  played: ReadonlyArray<PlayedCall> = [],
): Reply => {
  if (exported === undefined) {
    const message = `It does not answer ${question.name}.`
    return { kind: "fault", reason: "no_such_function", message, fuel: 0, io: 0, logs: [] }
  }
  const { io, calls } = playIo(played)
  const exit = policy.askNow({ function: exported, input, config, io })
  const measured = { fuel: exit.fuelUsed, io: calls(), logs: exit.logs }
  if (!exit.ok) return { ...measured, kind: "fault", reason: exit.reason, message: exit.message }
  if (exit.value === null) return { ...measured, kind: "no opinion", text: "null" }
  const answer = Schema.decodeResult(question.answer)(exit.value, { errors: "all" })
  if (Result.isFailure(answer)) {
    return { ...measured, kind: "fault", reason: "bad_answer", message: answer.failure.message }
  }
  const text = canonicalJson(Schema.encodeUnknownSync(question.answer)(answer.success))
  return { ...measured, kind: "answered", answer: answer.success, text }
}
