/** `svc plugin verify-receipt`. */
import { Effect } from "effect"
import { type Outcome, outcome, runCommand } from "#runtime/cli/outcome.ts"
import { homeFor, print } from "#runtime/cli/plugin/options.ts"
import { type RecordOptions, recordsFor } from "#runtime/cli/plugin-kit/records.ts"
import { openCandidate } from "#runtime/plugin-host/kit/candidate.ts"
import { kitFailed } from "#runtime/plugin-host/kit/failed.ts"
import { verifyReceipt as check, type ReceiptCheck } from "#runtime/plugin-host/kit/receipt.ts"
import type { Recorded } from "#runtime/plugin-host/kit/recorded.ts"
import { folderOf } from "#runtime/plugin-host/packages/installed.ts"
import { readLock } from "#runtime/plugin-host/packages/lock-file.ts"

interface ReceiptOptions extends RecordOptions {
  readonly policy?: string
  readonly setting?: ReadonlyArray<string>
  readonly json?: boolean
}

export const verifyReceipt = (run: string, sequence: string, options: ReceiptOptions): Promise<Outcome> =>
  runCommand(
    Effect.gen(function* () {
      const config = yield* settingsIn(options.setting ?? [])
      const records = yield* recordsFor({ ...options, run })
      const found = records.find((record) => String(record.sequence) === sequence)
      if (found === undefined) return yield* kitFailed(`There is no policy decision ${sequence} of the run ${run}.`)
      const candidate = yield* openCandidate(options.policy ?? (yield* installedPath(options, found)))
      const result = check(candidate, found, config)
      yield* print(options, result, text(result, found))
      return result.differences.length === 0 ? outcome.done : outcome.failed
    }),
  )

const settingsIn = (given: ReadonlyArray<string>) =>
  Effect.map(
    Effect.forEach(given, (each) => {
      const at = each.indexOf("=")
      return at > 0
        ? Effect.succeed([each.slice(0, at), each.slice(at + 1)] as const)
        : kitFailed(`--setting ${each}: expected name=value.`)
    }),
    (pairs): ReadonlyMap<string, string> => new Map(pairs),
  )

/** The stored package of the digest that the receipt names. */
const installedPath = Effect.fnUntraced(function* (
  options: ReceiptOptions,
  { decision: { plugin, digest } }: Recorded,
) {
  if (digest === null) {
    return yield* kitFailed(
      `${plugin} decided this itself: only what a WebAssembly policy decided has a receipt to check.`,
    )
  }
  const home = yield* homeFor(options)
  const entry = (yield* readLock(home.plugins)).get(plugin)
  const pinned = [entry?.active, entry?.pending].find((each) => each?.module === digest)
  if (pinned === undefined || pinned === null) {
    return yield* kitFailed(
      `${plugin} with the module ${digest} is not installed here. Say where it is: --policy <path>`,
    )
  }
  return folderOf(home.plugins, pinned.manifest)
})

const text = ({ plugin, question, digest, differences }: ReceiptCheck, { decision }: Recorded): string =>
  differences.length === 0
    ? `The receipt is true: ${plugin} (${digest}) answers ${question} the same again, for ${decision.fuel} fuel.`
    : [
        `The receipt of ${plugin} on ${question} cannot be confirmed:`,
        ...differences.flatMap(({ what, recorded, found }) => [
          `  ${what}`,
          `    recorded  ${recorded}`,
          `    found     ${found}`,
        ]),
      ].join("\n")
