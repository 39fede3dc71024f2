/** The demo as people start it: a process of its own, on a database of its own. */
import { execFile, spawn } from "node:child_process"
import { once } from "node:events"
import { existsSync, readFileSync } from "node:fs"
import { glob } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"
import { Effect } from "effect"
import { expect, it } from "vitest"
import { startOpenAiServer } from "#test/fakes/openai-server.ts"
import { agentThat, isReviewer } from "#test/support/orchestra.ts"
import { temporaryFolder } from "#test/support/temporary-folder.ts"

const program = fileURLToPath(new URL("demo.ts", import.meta.url))

const start = (args: ReadonlyArray<string>, environment: Readonly<Record<string, string>> = {}) => {
  const child = spawn(process.execPath, [program, ...args], {
    stdio: ["ignore", "pipe", "pipe"],
    // not where somebody has a svc.yml of their own
    cwd: tmpdir(),
    env: { ...process.env, ...environment },
  })
  const said = { text: "" }
  const lines = new Set<() => void>()
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding("utf8").on("data", (text: string) => {
      said.text += text
      for (const look of lines) look()
    })
  }
  const closed = once(child, "close").then(([code]) => ({ code, text: said.text }))
  /** Once it has said so, or has ended. */
  const until = (words: string) =>
    Promise.race([closed, new Promise<void>((resolve) => lines.add(() => said.text.includes(words) && resolve()))])
  return { child, closed, until }
}

/** Milliseconds; a demo takes some 20 seconds where nothing else works. */
const patience = 150_000

it(
  "takes a goal to a merge with passing tests, after a rejection that is steered and repaired",
  async () => {
    const folder = await temporaryFolder()
    const { code, text } = await start(["--yes", "--exit", "--folder", folder]).closed
    expect(code, text).toBe(0)
    const repository = join(folder, "village-hall")
    for (const words of [
      "no model is asked",
      "The plan has 6 subtasks:",
      "4 Connect the guest book (Backend, after 1, 2, 3)",
      "Connect the guest book: run_command npm test, exit code 0",
      "Responsible-AI review of the whole: revise",
      "Steering decides: dispatch_fresh, author_locked_out. Once more: Show the entries (Frontend-2)",
      "Responsible-AI review of the whole: green",
      "build-test: approved. Passed: npm test",
      "npm test in the merged repository: 9 tests pass",
      "events of 11 runs, each run's without a gap",
      `git -C ${repository} log`,
    ]) {
      expect(text).toContain(words)
    }
    expect(readFileSync(join(repository, "src/guest-book-page.js"), "utf8")).toContain("escaped(entry.text)")
    const git = await promisify(execFile)("git", [
      "-C",
      repository,
      "log",
      "--merges",
      "--first-parent",
      "--format=%s",
      "main",
    ])
    expect(git.stdout.trim().split("\n")).toHaveLength(1)
    expect(existsSync(join(folder, "service"))).toBe(false)
  },
  patience,
)

it(
  "stops at Ctrl-C, with the service and its database",
  async () => {
    const folder = await temporaryFolder()
    // as within a hook of another repository
    const other = join(folder, "other")
    const { child, closed, until } = start(["--yes", "--folder", folder], { GIT_DIR: other })
    await until("Show the entries: running")
    const [file = ""] = await Array.fromAsync(glob("service/data/**/postmaster.pid", { cwd: folder }))
    const postmaster = Number(readFileSync(join(folder, file), "utf8").split("\n")[0])
    expect(process.kill(postmaster, 0)).toBe(true)
    child.kill("SIGINT")
    expect((await closed).code).toBe(130)
    expect(existsSync(other)).toBe(false)
    expect(() => process.kill(postmaster, 0)).toThrow("ESRCH")
    expect(existsSync(join(folder, "service"))).toBe(false)
  },
  patience,
)

const oneSubtask = JSON.stringify([{ title: "Say more", scope: "Write more into README.md", role: "docs-writer" }])

const writer = agentThat([["write_file", { path: "README.md", content: "# Village hall\n\nOpen to all.\n" }]])

it(
  "lets the provider of the settings think where it is told to",
  () =>
    Effect.gen(function* () {
      const provider = yield* startOpenAiServer((request, index) => {
        if (request.method === "GET") return { status: 200, body: { data: [{ id: "gpt-test" }] } }
        const isAgent = request.body.tools?.length > 0
        return isAgent || isReviewer(request) ? writer(request, index) : { text: oneSubtask }
      })
      const environment = { Providers__Hosted__BaseUrl: provider.url, Providers__Hosted__Model: "gpt-test" }
      yield* Effect.promise(async () => {
        const args = ["--model", "--yes", "--exit", "--folder", await temporaryFolder()]
        const { code, text } = await start(args, environment).closed
        expect(code, text).toBe(0)
        expect(text).toContain("The agents think with the provider of your settings.")
        expect(text).toContain("  1 Say more (Writer)")
        expect(text).toContain("npm test in the merged repository: 2 tests pass")
      })
    }).pipe(Effect.scoped, Effect.runPromise),
  patience,
)

it("says that it needs a model where there is none to think, before it starts anything", async () => {
  const folder = await temporaryFolder()
  const { code, text } = await start(["--model", "--folder", folder], { Providers__Default: "scripted" }).closed
  expect({ code, text }).toMatchObject({ code: 1, text: expect.stringContaining("Providers:Hosted") })
  expect(existsSync(join(folder, "village-hall"))).toBe(false)
}, 60_000)

it("says what it does not understand, and what it needs", async () => {
  expect(await start(["--bogus"]).closed).toMatchObject({ code: 2, text: expect.stringContaining("--bogus") })
  const nowhere = join(await temporaryFolder(), "none")
  expect(await start(["--folder", nowhere]).closed).toMatchObject({
    code: 1,
    text: expect.stringContaining("--folder"),
  })
}, 60_000)
