/** A real process and real signals. */
import { spawn } from "node:child_process"
import { once } from "node:events"
import { fileURLToPath } from "node:url"
import { expect, it } from "vitest"

const root = fileURLToPath(new URL("..", import.meta.url))

/** Stops when it is asked to, and is then asked again, as npm does when it passes on a Ctrl-C. */
const program = `
  import { Effect } from "effect"
  import { stopSignal } from "#runtime/stop-signals.ts"
  const alive = setInterval(() => {}, 60_000)
  const closed = Effect.addFinalizer(() => Effect.andThen(
    Effect.promise(async () => {
      process.kill(process.pid, "SIGINT")
      await new Promise((resolve) => setTimeout(resolve, 50))
    }),
    Effect.sync(() => console.log("closed")),
  ))
  const work = Effect.scoped(Effect.andThen(closed, Effect.andThen(Effect.sync(() => console.log("ready")), Effect.never)))
  await Effect.runPromise(Effect.scoped(Effect.flatMap(stopSignal, ({ asked }) => Effect.raceFirst(work, asked))))
  clearInterval(alive)
  console.log("stopped")
`

it.each(["SIGINT", "SIGTERM"] as const)("%s stops in order, also when it comes twice", async (signal) => {
  const child = spawn(process.execPath, ["--input-type=module", "--eval", program], { cwd: root })
  let said = ""
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    said += text
    if (text.includes("ready")) child.kill(signal)
  })
  const [code, by] = await once(child, "close")
  expect({ code, by, said: said.trim().split("\n") }).toEqual({
    code: 0,
    by: null,
    said: ["ready", "closed", "stopped"],
  })
})
