import { spawn } from "node:child_process"
import { join } from "node:path"
import { createInterface } from "node:readline"
import { expect, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { EventLog } from "#core/event-log.ts"
import { Sql } from "#core/sql.ts"
import { serverProcesses, startServer, temporaryFolder } from "#test/support/private-server.ts"

/** The rounds that the service survives; every third kills the database server together with it. */
const rounds = 21

interface Acknowledged {
  readonly runId: string
  readonly sequence: number
  readonly text: string
}

/** Starts the service and kills it in the middle of its appends: at once when so many are acknowledged. */
const killedAfter = (folder: string, runIds: ReadonlyArray<string>, lines: number, withDatabase: boolean) =>
  Effect.promise(async () => {
    const program = join(import.meta.dirname, "appending-service.ts")
    const child = spawn(process.execPath, [program, folder, ...runIds], { stdio: ["ignore", "pipe", "inherit"] })
    const acknowledged: Array<Acknowledged> = []
    for await (const line of createInterface(child.stdout)) {
      const [runId = "", sequence, text] = line.split(" ")
      // a line that the kill cut in two acknowledges nothing
      if (text?.length === 36) acknowledged.push({ runId, sequence: Number(sequence), text })
      if (acknowledged.length !== lines) continue
      const database = withDatabase ? await Effect.runPromise(serverProcesses(folder)) : []
      for (const pid of database) kill(pid)
      child.kill("SIGKILL")
    }
    return acknowledged
  })

const kill = (pid: number): void => {
  try {
    process.kill(pid, "SIGKILL")
  } catch {
    // a backend that ended in between
  }
}

layer(Layer.empty, { excludeTestServices: true, timeout: "30 seconds" })("a crash", (it) => {
  it.effect(
    `loses, repeats and skips no acknowledged event, ${rounds} times in a row`,
    () =>
      Effect.gen(function* () {
        const folder = yield* temporaryFolder
        const runIds = Array.from({ length: 5 }, () => crypto.randomUUID())
        const acknowledged: Array<Acknowledged> = []
        for (let round = 0; round < rounds; round++) {
          const lines = 1 + ((round * 97) % 400)
          acknowledged.push(...(yield* killedAfter(folder, runIds, lines, round % 3 === 2)))
        }
        expect(acknowledged.length).toBeGreaterThan(rounds * 50)

        const server = yield* startServer(folder)
        const services = EventLog.layer.pipe(Layer.provideMerge(Layer.fresh(Sql.layer({ server }))))
        yield* Effect.gen(function* () {
          const log = yield* EventLog
          const sql = yield* Sql
          const stored = new Map<string, Map<number, string>>()
          for (const runId of runIds) {
            const texts = new Map<number, string>()
            for (let after = 0; ; ) {
              const page = yield* log.read(runId, { after })
              if (page.length === 0) break
              for (const event of page) texts.set(event.sequence, JSON.parse(event.payload).text)
              after = page.at(-1)?.sequence ?? after
            }
            stored.set(runId, texts)
            expect([...texts.keys()], "gapless").toEqual(Array.from({ length: texts.size }, (_, i) => i + 1))
          }
          for (const { runId, sequence, text } of acknowledged) {
            expect(stored.get(runId)?.get(sequence), "there, where it was acknowledged").toBe(text)
          }
          const texts = [...stored.values()].flatMap((each) => [...each.values()]).filter((text) => text !== "opened")
          expect(new Set(texts).size, "each once").toBe(texts.length)
          // an event that describes a row is there if and only if the row is
          const rows = new Set((yield* sql<{ text: string }>`select text from written`).map((row) => row.text))
          for (const text of rows) expect(texts).toContain(text)
        }).pipe(Effect.provide(services))
      }).pipe(Effect.scoped),
    { timeout: 120_000 },
  )
})
