/**
 * Runs a policy's golden cases where it will run: same instance, same limits, same schemas. Each case is asked twice, and has to give
 * the same bytes for the same fuel both times.
 */
import { Effect } from "effect"
import { openBuilt } from "#runtime/plugin-host/kit/build.ts"
import { type Candidate, candidateOf, type Reply } from "#runtime/plugin-host/kit/candidate.ts"
import { type Case, readCases } from "#runtime/plugin-host/kit/cases.ts"
import type { KitFailed } from "#runtime/plugin-host/kit/failed.ts"
import type { Budget } from "#runtime/plugin-host/packages/budget.ts"
import type { LogLine } from "#runtime/plugin-host/wasm/policy-call.ts"

export interface CaseResult {
  readonly name: string
  readonly question: string
  /** Absent: it passed. */
  readonly problem?: string
  readonly fuel: number
  readonly logs: ReadonlyArray<LogLine>
}

export interface Harness {
  readonly candidate: Candidate
  readonly cases: ReadonlyArray<Case>
  /** Bytes of the module. */
  readonly moduleBytes: number
  readonly run: () => ReadonlyArray<CaseResult>
}

export interface HarnessOptions {
  /** Built before: with plugin.json, the module and cases. */
  readonly folder: string
  /** Less, or more, than the manifest says. */
  readonly limits?: Partial<Budget>
}

export const policyHarness = Effect.fn("policyHarness")(function* ({
  folder,
  limits = {},
}: HarnessOptions): Effect.fn.Return<Harness, KitFailed> {
  const { found, admitted } = yield* openBuilt(folder)
  const candidate = yield* candidateOf(found.manifest, admitted, { ...found.manifest.limits, ...limits })
  const cases = yield* readCases(folder)
  const run = () => cases.map((each) => runCase(candidate, each))
  return { candidate, cases, moduleBytes: found.wasm.length, run }
})

const runCase = (candidate: Candidate, { name, question, input, config, played, expected }: Case): CaseResult => {
  const first = candidate.ask(question, input, config, played)
  const second = candidate.ask(question, input, config, played)
  const problem = differenceFrom(expected, first) ?? differenceBetween(first, second)
  const result = { name, question: question.name, fuel: first.fuel, logs: first.logs }
  return problem === undefined ? result : { ...result, problem }
}

const differenceFrom = (expected: string, reply: Reply): string | undefined => {
  if (reply.kind === "fault")
    return `expected ${expected}\n  but it could not answer: ${reply.reason}: ${reply.message}`
  return reply.text === expected ? undefined : `expected ${expected}\n       got ${reply.text}`
}

const differenceBetween = (first: Reply, second: Reply): string | undefined =>
  textOf(first) === textOf(second) && first.fuel === second.fuel
    ? undefined
    : `asked twice, it answered ${textOf(first)} for ${first.fuel} fuel, then ${textOf(second)} for ${second.fuel}`

const textOf = (reply: Reply): string => (reply.kind === "fault" ? reply.reason : reply.text)
