/** The service as `svc serve` starts it, in a process of its own with its own database, and as it stops. */
import { spawn } from "node:child_process"
import { once } from "node:events"
import { readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { fileURLToPath } from "node:url"
import { Effect, Schema } from "effect"
import { expect, it, onTestFinished } from "vitest"
import { testRepository } from "#test/support/repository.ts"
import { temporaryFolder } from "#test/support/temporary-folder.ts"

const program = fileURLToPath(new URL("../bin/svc.js", import.meta.url))

/** An agent that is at its first word for longer than the test lasts. */
const script = "script: 1\npause: 10000\nchunk: 1\nroles: [{ steps: [{ say: Slowly }] }]\n"

const readRun = Schema.decodeUnknownSync(Schema.Struct({ run_id: Schema.String }))
const readEvents = Schema.decodeUnknownSync(Schema.Array(Schema.Struct({ type: Schema.String })))

const serve = async (folder: string) => {
  const environment = { Providers__Default: "scripted", Providers__Scripted__Path: join(folder, "script.yml") }
  const args = [program, "serve", "--local", "--port", "0", "--data", join(folder, "data")]
  const child = spawn(process.execPath, args, { cwd: folder, env: { ...process.env, ...environment } })
  onTestFinished(async () => {
    if (child.exitCode !== null || !child.kill("SIGTERM")) return
    await once(child, "close")
  })
  let said = ""
  const url = await new Promise<string>((resolve, reject) => {
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding("utf8").on("data", (text: string) => {
        said += text
        const found = /is ready on (http:\/\/[\d.:]+)/.exec(said)?.[1]
        if (found !== undefined) resolve(found)
      })
    }
    child.once("close", () => reject(new Error(said)))
  })
  const key = readFileSync(join(folder, "data", "api-key"), "utf8").trim()
  return {
    child,
    said: () => said,
    call: async (method: string, path: string, body?: unknown): Promise<unknown> => {
      const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" }
      const answer = await fetch(url + path, {
        method,
        headers,
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      })
      return answer.json()
    },
  }
}

it("gives its runs back before its database is gone, so that the next one goes on at once", async () => {
  const folder = await temporaryFolder()
  writeFileSync(join(folder, "script.yml"), script)
  const repository = await Effect.runPromise(testRepository())
  const first = await serve(folder)
  const { run_id } = readRun(
    await first.call("POST", "/api/runs", { repository_path: repository.path, task: "Say it." }),
  )
  const begun = async ({ call }: typeof first, times: number) => {
    while (true) {
      const events = readEvents(await call("GET", `/api/runs/${run_id}/events`))
      const types = events.map(({ type }) => type)
      if (types.filter((type) => type === "agent.turn.start").length === times) return types
      await sleep(50)
    }
  }
  await begun(first, 1)
  first.child.kill("SIGINT")
  expect(await once(first.child, "close"), first.said()).toEqual([0, null])
  const second = await serve(folder)
  // a lease that ran out would be told of, and take minutes
  expect(await begun(second, 2)).not.toContain("run.error")
  second.child.kill("SIGTERM")
  expect(await once(second.child, "close"), second.said()).toEqual([0, null])
}, 60_000)
