/** `svc plugin test`. */
import { resolve } from "node:path"
import { Effect } from "effect"
import { type Outcome, outcome, runCommand } from "#runtime/cli/outcome.ts"
import { print } from "#runtime/cli/plugin/options.ts"
import { buildPolicy } from "#runtime/plugin-host/kit/build.ts"
import { type CaseResult, type Harness, policyHarness } from "#runtime/plugin-host/kit/harness.ts"

interface TestOptions {
  readonly build: boolean
  readonly json?: boolean
}

export const test = (folder = ".", options: TestOptions): Promise<Outcome> =>
  runCommand(
    Effect.gen(function* () {
      const path = resolve(folder)
      if (options.build) yield* buildPolicy(path)
      const harness = yield* policyHarness({ folder: path })
      const results = harness.run()
      const failed = results.filter(({ problem }) => problem !== undefined).length
      const { name, version, digest } = harness.candidate
      const answer = { name, version, digest, module_bytes: harness.moduleBytes, failed, cases: results }
      yield* print(options, answer, report(harness, results, failed))
      return failed === 0 ? outcome.done : outcome.failed
    }),
  )

const report = ({ candidate, moduleBytes }: Harness, results: ReadonlyArray<CaseResult>, failed: number): string =>
  [
    `${candidate.name} ${candidate.version}, ${moduleBytes.toLocaleString("en")} bytes`,
    ...results.flatMap(({ name, fuel, problem, logs }) => [
      `  ${problem === undefined ? "passed" : "FAILED"}  ${name} (${fuel.toLocaleString("en")} fuel)`,
      ...(problem === undefined ? [] : problem.split("\n").map((line) => `          ${line}`)),
      ...(problem === undefined ? [] : logs.map(({ level, message }) => `          ${level}: ${message}`)),
    ]),
    failed === 0
      ? `All ${results.length} cases passed, each twice with the same answer for the same fuel.`
      : `${failed} of ${results.length} cases failed.`,
  ].join("\n")
