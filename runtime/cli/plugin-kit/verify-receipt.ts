/** `svc plugin verify-receipt`. */
import { readFile } from "node:fs/promises"
import { Effect } from "effect"
import { settingsFor } from "#runtime/cli/options.ts"
import { type Outcome, outcome, runCommand } from "#runtime/cli/outcome.ts"
import { print } from "#runtime/cli/plugin/options.ts"
import { settingsGranted } from "#runtime/cli/plugin-kit/granted.ts"
import { type RecordOptions, recordsFor } from "#runtime/cli/plugin-kit/records.ts"
import { openCandidate } from "#runtime/plugin-host/kit/candidate.ts"
import { kitFailed, whileDoing } from "#runtime/plugin-host/kit/failed.ts"
import { isObject } from "#runtime/plugin-host/kit/folder.ts"
import {
  verifyReceipt as check,
  type Receipt,
  type ReceiptCheck,
  receiptsIn,
  withInput,
} from "#runtime/plugin-host/kit/receipt.ts"
import type { Recorded } from "#runtime/plugin-host/kit/recorded.ts"
import { homeOf } from "#runtime/plugin-host/packages/home.ts"
import { readLock } from "#runtime/plugin-host/packages/lock-file.ts"
import { noPermissions } from "#runtime/plugin-host/packages/permissions.ts"
import { folderOf, storedOf } from "#runtime/plugin-host/packages/store.ts"

interface ReceiptOptions extends RecordOptions {
  readonly policy?: string
  readonly setting?: ReadonlyArray<string>
  readonly input?: string
  readonly json?: boolean
}

export const verifyReceipt = (run: string, sequence: string, options: ReceiptOptions): Promise<Outcome> =>
  runCommand(
    Effect.gen(function* () {
      const given = yield* settingsIn(options.setting ?? [])
      const records = yield* recordsFor({ ...options, run })
      const found = records.find((each) => String(each.sequence) === sequence)
      if (found === undefined) return yield* kitFailed(`There is no policy decision ${sequence} of the run ${run}.`)
      const record = options.input === undefined ? found : yield* completed(found, options.input)
      const receipts = receiptsIn(record)
      if (receipts.length === 0) {
        return yield* kitFailed(
          `${record.decision.plugin} decided this, and no policy in WebAssembly was asked: there is no receipt to check.`,
        )
      }
      const checks =
        options.policy === undefined
          ? yield* Effect.forEach(receipts, (receipt) => checkInstalled(options, record, receipt, given))
          : yield* checkAt(options.policy, record, receipts, given)
      const { question } = record.decision
      yield* print(
        options,
        { runId: run, sequence: record.sequence, question, receipts: checks },
        text(question, checks),
      )
      return checks.every(({ differences }) => differences.length === 0) ? outcome.done : outcome.failed
    }),
  )

type Config = ReadonlyMap<string, string>

const settingsIn = (given: ReadonlyArray<string>) =>
  Effect.map(
    Effect.forEach(given, (each) => {
      const at = each.indexOf("=")
      return at > 0
        ? Effect.succeed([each.slice(0, at), each.slice(at + 1)] as const)
        : kitFailed(`--setting ${each}: expected name=value.`)
    }),
    (pairs): Config => new Map(pairs),
  )

/** With what the record does not hold, out of a file. */
const completed = Effect.fnUntraced(function* (record: Recorded, file: string) {
  const text = yield* Effect.tryPromise({
    try: () => readFile(file, "utf8"),
    catch: whileDoing(`${file} cannot be read`),
  })
  const given = yield* Effect.try({ try: (): unknown => JSON.parse(text), catch: whileDoing(file) })
  if (!isObject(given)) return yield* kitFailed(`${file}: expected an object with members of the question.`)
  const whole = withInput(record, given)
  if (whole !== undefined) return whole
  return yield* kitFailed(
    `With ${file} it is not the question that was asked: its digest is not ${record.decision.input_hash}.`,
  )
})

const checkAt = Effect.fnUntraced(function* (
  path: string,
  record: Recorded,
  receipts: ReadonlyArray<Receipt>,
  config: Config,
) {
  const candidate = yield* openCandidate(path)
  const its = receipts.filter(({ plugin }) => plugin === candidate.name)
  if (its.length === 0) {
    const asked = [...new Set(receipts.map(({ plugin }) => plugin))].join(", ")
    return yield* kitFailed(`${candidate.name} was not asked there. Who was: ${asked}.`)
  }
  return its.map((receipt) => check(candidate, record, receipt, config))
})

/**
 * By the stored package of the digest that the receipt names, also where another version has replaced it; with the settings that it
 * is granted now, unless others are given.
 */
const checkInstalled = Effect.fnUntraced(function* (
  options: ReceiptOptions,
  record: Recorded,
  receipt: Receipt,
  given: Config,
) {
  const { plugin, digest } = receipt
  const { values } = yield* settingsFor(options)
  const home = homeOf(values)
  const grants = (yield* readLock(home.plugins)).get(plugin)?.grants ?? noPermissions
  const found = (yield* storedOf(home, plugin)).find(({ manifest }) => `sha256:${manifest.sha256}` === digest)
  if (found === undefined) {
    return yield* kitFailed(
      `${plugin} with the module ${digest} is not installed here. Say where it is: --policy <path>`,
    )
  }
  const candidate = yield* openCandidate(folderOf(home.plugins, found.manifest.digest), home.world)
  const granted = settingsGranted(found, grants, values)
  return check(candidate, record, receipt, new Map([...granted, ...given]))
})

const text = (question: string, checks: ReadonlyArray<ReceiptCheck>): string =>
  checks
    .flatMap(({ plugin, version, digest, decided, differences }) => {
      const who = `${plugin} ${version ?? ""} (${digest})`
      const role = decided ? "decided" : "was asked beside others"
      if (differences.length === 0)
        return [`The receipt of ${who}, which ${role}, is true: it answers ${question} the same again.`]
      return [
        `The receipt of ${who}, which ${role} on ${question}, cannot be confirmed:`,
        ...differences.flatMap(({ what, recorded, found }) => [
          `  ${what}`,
          `    recorded  ${recorded}`,
          `    found     ${found}`,
        ]),
      ]
    })
    .join("\n")
