/**
 * `npm run demo`: the service at work in a folder of its own, on the embedded database, without a key or
 * a server. It makes a repository and a project over HTTP, plays the events of one agent's turn into a
 * run (no model is asked: the words and tool results are written here), and follows them as a client
 * that loses its connection and resumes.
 */
import { execFileSync } from "node:child_process"
import { mkdirSync, mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Effect, Layer, Schema } from "effect"
import { EventLog } from "#core/event-log.ts"
import { RunOutcome } from "#core/run/events/run.ts"
import {
  AgentIntent,
  AgentMessage,
  AgentMessageDelta,
  ToolCall,
  ToolResult,
  TurnEnded,
  TurnStarted,
} from "#core/run/events/turn.ts"
import { Runs } from "#core/run/runs.ts"
import { Settings, SettingsSchema, type SettingsValues } from "#core/settings.ts"
import { newApiKey } from "#runtime/api-key.ts"
import { layerDatabase } from "#runtime/database/layer.ts"
import { makeClient } from "#runtime/demo/client.ts"
import { startReplica } from "#runtime/main.ts"
import { coreServices } from "#runtime/services.ts"

const say = (line: string) => Effect.sync(() => process.stdout.write(`${line}\n`))

const message = "The greeting belongs in one function, so that the page and the mail say the same."

/** One turn, as an agent would leave it in the log. */
const turn = [
  TurnStarted.of({ turnId: "t1" }),
  AgentIntent.of({ intent: "Move the greeting into one function" }),
  ...message.split(/(?<= )/).map((delta) => AgentMessageDelta.of({ messageId: "m1", delta })),
  AgentMessage.of({ messageId: "m1", content: message }),
  ToolCall.of({ callId: "c1", toolName: "write_file", arguments: { path: "greeting.js" } }),
  ToolResult.of({ callId: "c1", content: "Wrote 3 lines to greeting.js." }),
  TurnEnded.of({ turnId: "t1" }),
  RunOutcome.of({ achieved: true, reason: "One greeting is left." }),
]

const demo = Effect.fnUntraced(function* (folder: string, key: string) {
  const { port, ready } = yield* startReplica()
  yield* ready
  const client = makeClient(port, key)
  yield* say(`The service runs on http://127.0.0.1:${port}, with its own PostgreSQL in ${folder}.`)

  const repository = join(folder, "hello")
  yield* Effect.sync(() => makeRepository(repository))
  const project = yield* client.post("/api/projects", {
    name: "hello",
    origin: "blank",
    working_directory: repository,
  })
  yield* say(`Project ${project.name}: ${project.project_id}, branch ${project.default_branch}.`)

  const runs = yield* Runs
  const log = yield* EventLog
  const { runId } = yield* runs.create({
    projectId: String(project.project_id),
    submittedBy: "demo",
    agentName: "Writer",
    task: "Use one greeting everywhere",
  })
  yield* runs.transition(runId, { _tag: "Start", worktreePath: null, worktreeBranch: `svc/${runId}` })
  yield* say(`Run ${runId}. A client follows it, is cut off after 8 events, and resumes:\n`)

  const play = Effect.gen(function* () {
    for (const event of turn) {
      yield* log.append(runId, [event])
      yield* Effect.sleep("40 millis")
    }
    yield* runs.transition(runId, { _tag: "RequestReview", treeHash: "0".repeat(40), diff: "", requestId: "r1" })
  })
  const show = (last: number, until: (type: string) => boolean, most: number) =>
    client.follow(runId, last, (event) => {
      process.stdout.write(`  ${String(event.id).padStart(3)}  ${event.type.padEnd(22)} ${event.data.slice(0, 90)}\n`)
      return until(event.type) || event.id - last >= most
    })
  const watch = Effect.gen(function* () {
    const first = yield* show(0, () => false, 8)
    yield* say(`       … the connection is lost after ${first}; it comes back with Last-Event-ID: ${first}`)
    return yield* show(first, (type) => type === "review.requested", 1_000)
  })
  yield* Effect.all([play, watch], { concurrency: 2 })

  yield* say("\nThe run waits for a person. Here it is declined over HTTP, twice: the second answer is the first one.")
  for (const _ of [1, 2]) {
    const answer = yield* client.post(`/api/runs/${runId}/review`, { approved: false })
    yield* say(`  POST /api/runs/…/review  →  ${JSON.stringify(answer)}`)
  }
  const events = yield* client.get(`/api/runs/${runId}/events`)
  const sequences = events.map((event: { sequence: number }) => event.sequence)
  const gapless = sequences.every((sequence: number, i: number) => sequence === i + 1)
  if (!gapless) return yield* Effect.die("the log has a gap")
  yield* say(
    `\n${events.length} events, 1 to ${sequences.at(-1)} without a gap. Start the service for yourself: npm start`,
  )
})

const makeRepository = (folder: string): void => {
  mkdirSync(folder)
  const git = (...args: ReadonlyArray<string>) => execFileSync("git", args, { cwd: folder, stdio: "ignore" })
  git("init", "--initial-branch=main")
  git(
    "-c",
    "user.name=svc demo",
    "-c",
    "user.email=demo@localhost",
    "commit",
    "--allow-empty",
    "--message=First commit",
  )
}

const settingsOf = (folder: string, key: string): SettingsValues =>
  Schema.decodeSync(SettingsSchema)({
    Server: { Port: 0 },
    Data: { Directory: join(folder, "data") },
    Auth: { Keys: [{ Token: key, User: "demo" }] },
  })

const folder = mkdtempSync(join(tmpdir(), "svc-demo-"))
const key = newApiKey()
const settings = settingsOf(folder, key)
const services = coreServices.pipe(
  Layer.provideMerge(layerDatabase),
  Layer.provideMerge(Layer.succeed(Settings, settings)),
)
try {
  await Effect.runPromise(demo(folder, key).pipe(Effect.provide(services), Effect.scoped))
} finally {
  rmSync(folder, { recursive: true, force: true })
}
