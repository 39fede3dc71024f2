/** What an agent's commands try, through whole runs: each ends in the sandbox, and the service and the run go on. */
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs"
import { homedir } from "node:os"
import { join } from "node:path"
import { describe, expect, layer } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { probe, statusOf } from "#runtime/sandbox/probe.ts"
import { TestDatabase } from "#test/support/database.ts"
import { agentThat, makeOrchestra } from "#test/support/orchestra.ts"
import { temporaryFolder } from "#test/support/temporary-folder.ts"

const mebibyte = 1_048_576
const canary = "canary-0b7e5d"
const { isRealIsolation } = statusOf(await Effect.runPromise(probe(["bubblewrap", "namespaces"])))

/** Nobody is asked about any of it. */
const policy = "sandbox:\n  max_output_bytes: 65536\n  destructive_command_patterns: []\n"

interface Place {
  readonly port: string
  readonly data: string
  readonly outside: string
  readonly repository: string
}

interface Told {
  readonly type: string
  readonly payload: { readonly content?: string; readonly errorMessage?: string }
}

interface Attack {
  readonly name: string
  readonly tool?: string
  readonly input: (place: Place) => object
  /** What the model reads of it. */
  readonly told: RegExp
}

const shell = (name: string, command: (place: Place) => string, told: RegExp, seconds = 20): Attack => ({
  name,
  input: (place) => ({ command: command(place), timeout_ms: seconds * 1_000 }),
  told,
})

/** Not the Node.js that the service runs with: that may be seen. */
const inHome = readdirSync(homedir()).find((name) => !process.execPath.includes(name)) ?? "none"
const connect = (port: string) =>
  `node -e "require('net').connect(${port},'127.0.0.1').on('connect',()=>process.exit(0)).on('error',()=>process.exit(9))"`
const memoryBomb = "node -e 'const all = []; for (;;) all.push(Buffer.alloc(10_000_000, 1))'"

const attacks: ReadonlyArray<Attack> = [
  shell("reaches the service by the network", ({ port }) => connect(port), /exit_code: 9$/),
  shell("reads the data folder", ({ data }) => `cat ${data}/secret`, /exit_code: [1-9]/),
  shell("reads what lies outside", ({ outside }) => `cat ${outside}/secret`, /exit_code: [1-9]/),
  shell("writes what lies outside", ({ outside }) => `echo x >${outside}/new`, /exit_code: [1-9]/),
  shell("reads the home folder", () => `ls -d ${join(homedir(), inHome)}`, /exit_code: [1-9]/),
  // the folder may be there, because git's objects are below it: empty, and not the user's
  shell(
    "writes the user's repository",
    ({ repository }) => `ls ${repository}; echo x >${repository}/new`,
    /^(?!.*README)/s,
  ),
  shell("ends the service", () => `kill -9 ${process.pid}`, /exit_code: [1-9]/),
  shell("starts processes without end", () => "b() { b | b & }; b; sleep 60", /exit_code: (?!0)|timed_out/, 2),
  shell("takes memory without end", () => memoryBomb, /exit_code: (?!0)/),
  shell("writes without end", () => "yes", /timed_out: true\noutput_truncated: true$/, 1),
  shell("changes what git is", () => "git config core.fsmonitor 'touch owned'", /exit_code: [1-9]/),
  shell("leaves a hook", () => "echo 'touch owned' >.git/hooks/post-commit", /exit_code: [1-9]/),
  shell("makes a commit of its own", () => "git commit --allow-empty -m mine", /exit_code: [1-9]/),
  {
    name: "writes git's folder by a tool",
    tool: "write_file",
    input: () => ({ path: ".git/hooks/post-commit", content: "x" }),
    told: /^error: .*\.git/s,
  },
  shell("links outwards", ({ outside }) => `ln -s ${outside} out; ln -s ${outside}/secret link`, /exit_code: 0/),
  { name: "reads by the link", tool: "read_file", input: () => ({ path: "link" }), told: /^error: .*link/s },
  {
    name: "writes by the link",
    tool: "write_file",
    input: () => ({ path: "out/new", content: "x" }),
    told: /^error: .*out/s,
  },
  shell("goes on", () => "rm link out && echo fine >good.txt", /exit_code: 0$/),
]

describe.skipIf(!isRealIsolation)("commands of an agent", () => {
  layer(TestDatabase.layer, { excludeTestServices: true, timeout: "60 seconds" })((it) => {
    it.effect("do nothing outside of their sandbox, while the service answers and the run goes on", () =>
      Effect.gen(function* () {
        const outside = yield* Effect.promise(temporaryFolder)
        let place: Place = { port: "", data: "", outside, repository: "" }
        const { url, call, repository, settings, service, start, until } = yield* makeOrchestra(
          (request, index) =>
            agentThat(attacks.map(({ tool = "run_command", input }) => [tool, input(place)]))(request, index),
          {
            files: { "README.md": "# A project\n", ".svc/settings.yml": policy },
            limits: { memoryBytes: 512 * mebibyte, processMemoryBytes: 1_024 * mebibyte, processes: 64 },
          },
        )
        const data = settings.Data?.Directory ?? ""
        place = { ...place, port: String(service.port), data, repository: repository.path }
        for (const folder of [data, outside]) writeFileSync(join(folder, "secret"), canary)

        const pings: Array<number> = []
        const pinging = yield* Effect.promise(() =>
          fetch(`${url}/api/ping`).then(({ status }) => pings.push(status)),
        ).pipe(Effect.andThen(Effect.sleep("50 millis")), Effect.forever, Effect.forkChild)
        const runId = yield* start("Attack")
        const types = yield* until(runId, "review.requested", "run.failed")
        yield* Fiber.interrupt(pinging)
        expect(types.at(-1)).toBe("review.requested")
        expect(new Set(pings)).toEqual(new Set([200]))

        const { body: events } = yield* call("GET", `/api/runs/${runId}/events?limit=1000`)
        const results = (events as ReadonlyArray<Told>).flatMap(({ type, payload: { content, errorMessage } }) =>
          type === "tool.result" ? [content ?? ""] : type === "tool.error" ? [`error: ${errorMessage}`] : [],
        )
        expect(results).toHaveLength(attacks.length)
        for (const [index, { name, told }] of attacks.entries()) expect(results[index], name).toMatch(told)
        expect(JSON.stringify(events)).not.toContain(canary)

        const { body: files } = yield* call("GET", `/api/runs/${runId}/files`)
        expect(files.map(({ path }: { path: string }) => path)).toEqual(["good.txt"])
        expect((yield* call("POST", `/api/runs/${runId}/commit`)).body).toMatchObject({ status: "merged" })
        expect(existsSync(join(outside, "new"))).toBe(false)
        expect(existsSync(join(repository.path, "new"))).toBe(false)
        expect(existsSync(join(repository.path, "owned"))).toBe(false)
        expect(readFileSync(join(data, "secret"), "utf8")).toBe(canary)
      }),
    )

    it.effect("cannot have a link that leads outwards committed", () =>
      Effect.gen(function* () {
        const outside = yield* Effect.promise(temporaryFolder)
        const { call, repository, start, until } = yield* makeOrchestra(
          agentThat([["run_command", { command: `ln -s ${outside} out` }]]),
        )
        const runId = yield* start("Link")
        yield* until(runId, "review.requested", "run.failed")
        const [failed] = (yield* call("GET", `/api/runs/${runId}/events?type=run.failed`)).body
        expect(failed.payload).toMatchObject({ errorCode: "checkout_invalid", retryable: false })
        expect(failed.payload.message).toContain("out")
        expect(repository.git("ls-tree", "--name-only", "main")).toBe("README.md")
      }),
    )
  })
})
