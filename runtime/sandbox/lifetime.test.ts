import { spawn } from "node:child_process"
import { once } from "node:events"
import { fileURLToPath } from "node:url"
import { describe, expect, it } from "@effect/vitest"
import { Deferred, Duration, Effect, Fiber } from "effect"
import { afterAll } from "vitest"
import { until } from "#runtime/database/processes.ts"
import { commandsIn, executionIn, makeWorld, processesWith } from "#test/support/sandbox-world.ts"

const world = await makeWorld()
afterAll(world.close)
const sandbox = await Effect.runPromise(commandsIn(world))
const status = await Effect.runPromise(sandbox.status)
const service = fileURLToPath(new URL("../../test/support/sandbox-service.ts", import.meta.url))

let marks = 0
/** Seconds of a sleep by which its process is found again. */
const mark = () => `${9_000_000 + process.pid}.${marks++}`

/** Processes in every way that outlives a shell: in the background, deaf to signals, in sessions of their own, orphaned. */
const many = (seconds: string) =>
  [
    `sleep ${seconds} &`,
    `nohup sleep ${seconds} >/dev/null 2>&1 &`,
    `setsid sleep ${seconds} </dev/null >/dev/null 2>&1 &`,
    `(trap '' TERM INT HUP; sleep ${seconds}) &`,
    `(setsid sh -c "sleep ${seconds} & sleep ${seconds} & exit" &)`,
    `node -e 'require("child_process").spawn("sleep", ["${seconds}"], { detached: true, stdio: "ignore" }).unref()'`,
  ].join("\n")
const started = 7

/** All of them run. */
const allRun = (seconds: string) =>
  Effect.promise(() => until(async () => (await processesWith(seconds)) >= started, 10_000))

describe.skipIf(!status.isRealIsolation)(`a command in a sandbox (${status.reason})`, () => {
  it.live("is ended with all that it started when its time is over", () =>
    Effect.gen(function* () {
      const seconds = mark()
      const running = yield* Effect.forkChild(
        sandbox.run(`${many(seconds)}\necho begun\nwait; sleep ${seconds}`, { timeout: Duration.seconds(3) }),
      )
      expect(yield* allRun(seconds)).toBe(true)
      const told = yield* Fiber.join(running)
      expect(told).toMatchObject({ exitCode: -1, timedOut: true })
      expect(told.output).toContain("begun")
      expect(yield* Effect.promise(() => processesWith(seconds))).toBe(0)
    }),
  )

  it.live("is ended with all that it started when it is interrupted", () =>
    Effect.gen(function* () {
      const seconds = mark()
      const running = yield* Effect.forkChild(sandbox.run(`${many(seconds)}\nsleep ${seconds}`))
      expect(yield* allRun(seconds)).toBe(true)
      yield* Fiber.interrupt(running)
      expect(yield* Effect.promise(() => processesWith(seconds))).toBe(0)
    }),
  )

  it.live("leaves nothing behind when it has ended", () =>
    Effect.gen(function* () {
      const seconds = mark()
      expect(yield* sandbox.run(`${many(seconds)}\nexit 6`)).toMatchObject({ exitCode: 6, timedOut: false })
      expect(yield* Effect.promise(() => processesWith(seconds))).toBe(0)
    }),
  )

  it.live("can be interrupted at any moment of its start", () =>
    Effect.gen(function* () {
      const seconds = mark()
      for (let millis = 0; millis < 40; millis += 4) {
        yield* Effect.raceFirst(sandbox.run(`sleep ${seconds}`), Effect.sleep(Duration.millis(millis)))
      }
      expect(yield* Effect.promise(() => processesWith(seconds))).toBe(0)
    }),
  )

  it.live("ends when the service is killed", () =>
    Effect.gen(function* () {
      const seconds = mark()
      const command = `${many(seconds)}\nsleep ${seconds}`
      const child = spawn(process.execPath, [service, world.data, world.checkout, command], { stdio: "inherit" })
      expect(yield* allRun(seconds)).toBe(true)
      const exit = once(child, "exit")
      child.kill("SIGKILL")
      yield* Effect.promise(() => exit)
      expect(yield* Effect.promise(() => until(async () => (await processesWith(seconds)) === 0, 10_000))).toBe(true)
    }),
  )

  it.live("can be started, and ended from outside", () =>
    Effect.gen(function* () {
      const begun = yield* Deferred.make<void>()
      const running = yield* sandbox.start(
        executionIn(world, "echo begun; sleep 600", {
          timeout: Duration.infinity,
          onOutput: () => Deferred.succeed(begun, undefined),
        }),
      )
      yield* Deferred.await(begun)
      expect(running.pid).toBeGreaterThan(1)
      yield* running.kill
      expect(yield* running.ended).toEqual({ exitCode: -1, timedOut: false, outputTruncated: false })
      yield* running.kill
    }).pipe(Effect.scoped),
  )

  it.live("ends with the scope that it was started in", () =>
    Effect.gen(function* () {
      const seconds = mark()
      yield* Effect.scoped(
        Effect.gen(function* () {
          yield* sandbox.start(executionIn(world, `${many(seconds)}\nwait; sleep ${seconds}`))
          expect(yield* allRun(seconds)).toBe(true)
        }),
      )
      expect(yield* Effect.promise(() => processesWith(seconds))).toBe(0)
    }),
  )
})

describe("a command that nothing confines", () => {
  it.live("is ended with its process group when its time is over", () =>
    Effect.gen(function* () {
      const seconds = mark()
      const told = yield* sandbox.run(`sleep ${seconds} & sleep ${seconds}`, {
        direct: true,
        timeout: Duration.millis(300),
      })
      expect(told).toMatchObject({ exitCode: -1, timedOut: true })
      expect(yield* Effect.promise(() => until(async () => (await processesWith(seconds)) === 0, 10_000))).toBe(true)
    }),
  )

  it.live("is not waited for by what it left behind", () =>
    Effect.gen(function* () {
      const seconds = mark()
      const told = yield* sandbox.run(`setsid sleep ${seconds} & echo done`, { direct: true })
      expect(told).toMatchObject({ exitCode: 0, output: "done\n" })
      yield* sandbox.run(`pkill -f 'sleep ${seconds}' || kill $(pgrep -f ${seconds})`, { direct: true })
    }),
  )
})
