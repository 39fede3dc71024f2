/** Tries all ways out of the sandbox, and prints what came of them: for running as another user. */
import { Effect, Logger } from "effect"
import { escapes } from "#runtime/sandbox/escapes.examples.ts"
import type { Tool } from "#runtime/sandbox/probe.ts"
import { commandsIn, makeWorld } from "#test/support/sandbox-world.ts"

export interface Attempt {
  readonly name: string
  readonly openOutside: "always" | "root" | "untried"
  /** Exit codes; null where it was not tried. */
  readonly outside: number | null
  readonly inside: number
  readonly output: string
}

export interface Attempts {
  readonly status: string
  readonly attempts: ReadonlyArray<Attempt>
  readonly bystanderLives: boolean
}

export const attemptAll = (tool: Tool) =>
  Effect.acquireUseRelease(
    Effect.promise(makeWorld),
    (world) =>
      Effect.gen(function* () {
        const isRoot = process.getuid?.() === 0
        const sandbox = yield* commandsIn(world, {}, [tool])
        const status = yield* sandbox.status
        if (!status.isRealIsolation) return { status: status.reason, attempts: [], bystanderLives: true }
        const attempts = yield* Effect.forEach(
          escapes,
          ({ name, openOutside, command: text }) =>
            Effect.gen(function* () {
              const { exitCode, output } = yield* sandbox.run(text)
              const tried = openOutside === "always" || (openOutside === "root" && isRoot)
              const outside = tried ? (yield* sandbox.run(text, { direct: true })).exitCode : null
              return { name, openOutside, inside: exitCode, outside, output } satisfies Attempt
            }),
          { concurrency: 4 },
        )
        const bystanderLives = world.bystander.exitCode === null && world.bystander.signalCode === null
        return { status: status.reason, attempts, bystanderLives } satisfies Attempts
      }),
    (world) => Effect.promise(world.close),
  )

if (process.argv[2] === "namespaces" || process.argv[2] === "bubblewrap") {
  const told = await Effect.runPromise(attemptAll(process.argv[2]).pipe(Effect.provide(Logger.layer([]))))
  process.stdout.write(JSON.stringify(told))
}
