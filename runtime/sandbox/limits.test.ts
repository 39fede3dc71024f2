import { stat } from "node:fs/promises"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { join } from "node:path"
import { describe, expect, it } from "@effect/vitest"
import { Duration, Effect, Fiber } from "effect"
import { afterAll } from "vitest"
import type { SandboxLimits } from "#runtime/sandbox/limits.ts"
import { commandsIn, makeWorld } from "#test/support/sandbox-world.ts"

const mebibyte = 1_048_576

const world = await makeWorld()
afterAll(world.close)
const status = await Effect.runPromise(Effect.flatMap(commandsIn(world), (sandbox) => sandbox.status))

const limited = Effect.fnUntraced(function* (command: string, limits: Partial<SandboxLimits>, seconds = 20) {
  const { run } = yield* commandsIn(world, limits)
  return yield* run(command, { timeout: Duration.seconds(seconds) })
})

/** While a command runs, this process serves; gives how often it did. */
const whileServing = <A, E>(effect: Effect.Effect<A, E>) =>
  Effect.acquireUseRelease(
    Effect.promise(
      () =>
        new Promise<ReturnType<typeof createServer>>((listening) => {
          const server = createServer((_, response) => response.end("here")).listen(0, "127.0.0.1", () =>
            listening(server),
          )
        }),
    ),
    (server) =>
      Effect.gen(function* () {
        const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
        let answers = 0
        const asking = yield* Effect.forkChild(
          Effect.promise(() => fetch(url).then((response) => response.text())).pipe(
            Effect.tap(() => Effect.sync(() => answers++)),
            Effect.andThen(Effect.sleep(Duration.millis(20))),
            Effect.forever,
          ),
        )
        const told = yield* effect
        yield* Fiber.interrupt(asking)
        return { told, answers }
      }),
    (server) => Effect.promise(() => new Promise<void>((closed) => server.close(() => closed()).closeAllConnections())),
  )

describe.skipIf(!status.isRealIsolation)(`a command in a sandbox (${status.reason})`, () => {
  it.live("cannot start processes without end", () =>
    Effect.gen(function* () {
      const bomb = "b() { b | b & }; b; sleep 20; echo survived"
      const { told, answers } = yield* whileServing(limited(bomb, { processes: 64 }, 3))
      expect(told.exitCode).not.toBe(0)
      expect(told.output).not.toContain("survived")
      expect(answers).toBeGreaterThan(0)
    }),
  )

  it.live("is ended where its processes are too many", () =>
    Effect.gen(function* () {
      const told = yield* limited("for i in $(seq 100); do sleep 20 & done; wait", { processes: 64 })
      expect(told.exitCode).not.toBe(0)
      expect(told.timedOut).toBe(false)
      expect(told.output).toMatch(/more than 64 processes|fork/i)
    }),
  )

  it.live("gets only so much memory for a process", () =>
    Effect.gen(function* () {
      const bomb = `node -e 'const all = []; for (;;) all.push(Buffer.alloc(10_000_000, 1))'`
      const { told, answers } = yield* whileServing(limited(bomb, { processMemoryBytes: 400 * mebibyte }))
      expect(told.exitCode).not.toBe(0)
      expect(told.timedOut).toBe(false)
      expect(answers).toBeGreaterThan(0)
    }),
  )

  it.live("gets only so much memory for all processes together", () =>
    Effect.gen(function* () {
      const one = `node -e 'const all = Buffer.alloc(100_000_000, 1); setTimeout(() => console.log(all.length), 20_000)'`
      const told = yield* limited(`${one} & ${one} & ${one} & wait`, { memoryBytes: 300 * mebibyte })
      expect(told).toMatchObject({ exitCode: -1, timedOut: false })
      expect(told.output).toContain("The command was ended: more than 300 MiB of memory.")
    }),
  )

  it.live("writes no larger file than it may", () =>
    Effect.gen(function* () {
      const told = yield* limited("head -c 20000000 /dev/zero >large", { fileBytes: mebibyte })
      expect(told.exitCode).not.toBe(0)
      expect((yield* Effect.promise(() => stat(join(world.checkout, "large")))).size).toBe(mebibyte)
    }),
  )

  it.live("keeps only so much in its temporary folders", () =>
    Effect.gen(function* () {
      const fill = (folder: string) =>
        `for i in 1 2 3 4 5 6 7 8; do head -c 1000000 /dev/zero >${folder}/$i || break; done; du -xsk ${folder} | cut -f1`
      for (const folder of ["/tmp", "/dev/shm"]) {
        const { output } = yield* limited(`(cd / && ${fill(folder)}) 2>/dev/null`, { temporaryBytes: 4 * mebibyte })
        expect(Number(output)).toBeGreaterThan(2_000)
        expect(Number(output)).toBeLessThanOrEqual(4_096)
      }
    }),
  )

  it.live("does not fill the disk", () =>
    Effect.gen(function* () {
      const told = yield* limited("sleep 20", { freeBytes: Number.MAX_SAFE_INTEGER })
      expect(told).toMatchObject({ exitCode: -1, timedOut: false })
      expect(told.output).toContain("are left on the disk")
    }),
  )

  it.live("opens only so many files", () =>
    Effect.gen(function* () {
      const open = `node -e 'const fs = require("fs"); let n = 0; try { for (;;) { fs.openSync("/dev/null"); n++ } } catch (e) { console.log(e.code, n < 100) }'`
      expect((yield* limited(open, { openFiles: 100 })).output).toBe("EMFILE true\n")
    }),
  )

  it.live("computes only so long", () =>
    Effect.gen(function* () {
      const told = yield* limited("while :; do :; done", { processors: 0.05 })
      expect(told).toMatchObject({ exitCode: 137, timedOut: false })
    }),
  )
})
