/** What the demo says at its end: what changed, whether the tests pass, and where to look next. */
import { Effect, Schema } from "effect"
import type { Client } from "#runtime/demo/client.ts"
import { DemoFailed } from "#runtime/demo/failed.ts"
import type { Repository } from "#runtime/demo/repository.ts"
import { linesOf } from "#runtime/demo/view/clean.ts"
import type { Screen } from "#runtime/demo/view/screen.ts"

const Events = Schema.Array(Schema.Struct({ sequence: Schema.Int }))

/** Lines of failing tests that are shown. */
const shownLines = 40

/** Fails where the tests of what was merged do not pass. */
export const reportMerged = Effect.fn("demo.report")(function* (
  { screen, client, repository }: { readonly screen: Screen; readonly client: Client; readonly repository: Repository },
  runIds: ReadonlyArray<string>,
) {
  const { passed, count, output } = yield* repository.test
  screen.say("\nWhat changed on main:")
  for (const line of linesOf(yield* repository.changes)) screen.say(`  ${line.trim()}`)
  if (!passed) {
    for (const line of linesOf(output).slice(-shownLines)) screen.say(`  ${line}`)
    return yield* new DemoFailed({
      message: `The tests of the merged repository do not pass: npm test in ${repository.path}`,
    })
  }
  screen.say(`${screen.paint("green", "✔")} npm test in the merged repository: ${count} tests pass`)
  const logs = yield* Effect.forEach(runIds, (runId) => client.get(`/api/runs/${runId}/events`, Events), {
    concurrency: 4,
  })
  const gapless = logs.every((events) => events.every(({ sequence }, index) => sequence === index + 1))
  if (!gapless) return yield* new DemoFailed({ message: "A run's events have a gap. Please report this." })
  const events = logs.reduce((sum, each) => sum + each.length, 0)
  screen.say(`  ${events} events of ${runIds.length} runs, each run's without a gap`)
})

export interface Places {
  readonly repository: string
  readonly address: string
  readonly keyFile: string
  readonly runId: string
}

/** Where to look next. The service answers only while it runs. */
export const placesToLook = (
  { repository, address, keyFile, runId }: Places,
  running: boolean,
): ReadonlyArray<string> => [
  "\nWhere to look next:",
  `  git -C ${repository} log --stat`,
  `  npm --prefix ${repository} start`,
  ...(running
    ? [
        `  ${address}/docs`,
        `  curl -H "Authorization: Bearer $(cat ${keyFile})" ${address}/api/runs/${runId}/work-plan`,
        "\nThe service runs until you press Ctrl-C; its database goes with it, the repository stays.",
      ]
    : ["  npm start starts the service for yourself"]),
]
