/** The files of a run over HTTP: the tree, the changes, one file; what is binary, large, unknown or leads elsewhere. */
import { once } from "node:events"
import { mkdirSync, writeFileSync } from "node:fs"
import { type IncomingMessage, request } from "node:http"
import { join } from "node:path"
import { text } from "node:stream/consumers"
import { expect, layer } from "@effect/vitest"
import { Effect } from "effect"
import { newId } from "#core/ids.ts"
import { TestDatabase } from "#test/support/database.ts"
import { agentThat, headersOf, makeOrchestra, type Orchestra } from "#test/support/orchestra.ts"

const key = `ghp_${"a1B2".repeat(9)}`

const files = {
  "README.md": "# A project\n",
  "keep.txt": "kept\n",
  "old.txt": "old\n",
  "sub/change.ts": "export const a = 1\n",
}

/** What stands in the checkout, but for what `files` has. */
const made: Readonly<Record<string, string | Uint8Array>> = {
  "sub/change.ts": "export const a = 2\n",
  "new folder/ünï cödé.md": "# Hällo\n",
  "image.bin": Uint8Array.from([0x89, 0, 1, 2, 3]),
  "large.txt": "0123456789abcdef\n".repeat(65_536),
  "content/content": "in a folder of that name\n",
  "docs/content": "a file of that name\n",
  "key.txt": `${key}\n`,
}

/** A run whose agent has committed all that, and a file beside it that is not committed. */
const reviewed = Effect.gen(function* () {
  const orchestra = yield* makeOrchestra(
    agentThat([["run_command", { command: "rm old.txt && ln -s keep.txt link" }]]),
    { files },
  )
  const { service, start, until, call } = orchestra
  const runId = yield* start("Change much")
  yield* until(runId, "review.requested", "run.failed")
  const { worktreePath } = yield* service.runs.get(runId)
  const write = (name: string, content: string | Uint8Array) => {
    const path = join(worktreePath ?? "", name)
    mkdirSync(join(path, ".."), { recursive: true })
    writeFileSync(path, content)
  }
  const get = (rest: string, as?: "ada" | "ben") => call("GET", `/api/runs/${runId}${rest}`, undefined, as)
  return { ...orchestra, runId, write, get }
}).pipe(Effect.orDie)

/** Without resolving dots, as `fetch` does. */
const getAsIs = (url: string) =>
  Effect.promise(async () => {
    const { origin, hostname, port } = new URL(url)
    const asked = request({ hostname, port, path: url.slice(origin.length), headers: headersOf("ada") }).end()
    const [response] = (await once(asked, "response")) as [IncomingMessage]
    const { error } = JSON.parse(await text(response))
    return { status: response.statusCode, error }
  })

const refusals = ["400 invalid_request", "404 file_not_found", "404 not_found"]

const pathsOf = (body: ReadonlyArray<{ readonly path: string }>) => body.map(({ path }) => path)

layer(TestDatabase.layer, { excludeTestServices: true, timeout: "60 seconds" })("files of a run", (it) => {
  it.effect("are listed by what happened to them, and stand in a tree", () =>
    Effect.gen(function* () {
      const { get, write } = yield* reviewed
      for (const [name, content] of Object.entries(made)) write(name, content)
      const all = yield* get("/files")
      expect(all.status).toBe(200)
      const entry = (path: string) => all.body.find((file: { path: string }) => file.path === path)
      expect(pathsOf(all.body).sort()).toEqual([...Object.keys(made), "link", "old.txt"].sort())
      expect(entry("old.txt")).toEqual({
        path: "old.txt",
        status: "deleted",
        scope: "committed",
        added_lines: 0,
        removed_lines: 1,
      })
      expect(entry("sub/change.ts")).toMatchObject({
        status: "modified",
        scope: "uncommitted",
        added_lines: 1,
        removed_lines: 1,
      })
      expect(entry("large.txt")).toMatchObject({ status: "added", added_lines: 65_536 })
      expect(pathsOf((yield* get("/files?filter=committed")).body)).toEqual(["link", "old.txt"])
      expect(pathsOf((yield* get("/files?filter=last-commit")).body)).toEqual(["link", "old.txt"])
      expect(pathsOf((yield* get("/files?filter=uncommitted")).body).sort()).toEqual(Object.keys(made).sort())
      for (const filter of ["?filter=", "?filter=ALL", "?filter=all&filter=all"]) {
        expect((yield* get(`/files${filter}`)).body, filter).toMatchObject({ error: "invalid_request" })
      }
      const { status, body } = yield* get("/workspace")
      expect(status).toBe(200)
      const nodes = new Map(body.map((node: { path: string }) => [node.path, node]))
      const unchanged = { is_folder: false, status: null, added_lines: 0, removed_lines: 0 }
      expect(nodes.get("keep.txt")).toEqual({ path: "keep.txt", ...unchanged })
      expect(nodes.get("old.txt")).toMatchObject({ status: "deleted", removed_lines: 1 })
      expect(nodes.get("new folder")).toMatchObject({ is_folder: true })
      expect(nodes.get("new folder/ünï cödé.md")).toMatchObject({ status: "added", added_lines: 1 })
      expect(pathsOf(body).some((path) => path.split("/").includes(".git"))).toBe(false)
    }),
  )

  it.effect("are shown one by one: text, binary, too large, deleted, unchanged, linked", () =>
    Effect.gen(function* () {
      const { get, write } = yield* reviewed
      for (const [name, content] of Object.entries(made)) write(name, content)
      const file = (path: string) => Effect.map(get(`/files/${encodeURI(path)}`), ({ body }) => body)
      const content = (path: string) => file(`${path}/content`)
      expect(yield* content("sub/change.ts")).toEqual({
        path: "sub/change.ts",
        content: "export const a = 2\n",
        is_binary: false,
        language: "typescript",
      })
      expect((yield* file("sub/change.ts")).diff).toContain("-export const a = 1\n+export const a = 2\n")
      expect((yield* content("new folder/ünï cödé.md")).content).toBe("# Hällo\n")
      expect(yield* content("image.bin")).toEqual({ path: "image.bin", content: null, is_binary: true, language: null })
      expect(yield* file("image.bin")).toMatchObject({ diff: null, status: "added", is_binary: true })
      expect(yield* content("large.txt")).toMatchObject({ content: null, is_binary: false, language: "too_large" })
      expect(yield* file("large.txt")).toMatchObject({ diff: null, status: "added", is_binary: false })
      expect(yield* file("old.txt")).toMatchObject({ status: "deleted", diff: expect.stringContaining("-old") })
      expect(yield* content("old.txt")).toMatchObject({ error: "file_not_found" })
      expect(yield* file("keep.txt")).toMatchObject({ status: "unchanged", diff: "" })
      expect(yield* content("link")).toMatchObject({ content: "keep.txt" })
      expect((yield* content("content/content")).content).toBe("in a folder of that name\n")
      expect((yield* file("docs/content")).diff).toContain("+a file of that name")
      expect((yield* content("docs/content")).content).toBe("a file of that name\n")
      expect(JSON.stringify([yield* content("key.txt"), yield* file("key.txt")])).not.toContain(key)
    }),
  )

  it.effect("are only files of the run: nothing is found by a name that leads elsewhere", () =>
    Effect.gen(function* () {
      const { url, service, runId } = yield* reviewed
      const names = [
        "none.txt",
        "sub",
        "sub/none.ts",
        ".git/config",
        ".git",
        "%2e%2e/%2e%2e/run.json",
        "..%2f..%2frun.json",
        "%2Fetc%2Fpasswd",
        "sub/..%5c..%5crun.json",
        ":(glob)**",
        ":!README.md",
        "*",
        "README.md%00",
        "readme.MD",
        "x".repeat(5_000),
      ]
      for (const name of names) {
        for (const suffix of ["", "/content"]) {
          const { status, error } = yield* getAsIs(`${url}/api/runs/${runId}/files/${name}${suffix}`)
          expect(refusals, name + suffix).toContain(`${status} ${error}`)
        }
      }
      expect((yield* service.runs.get(runId)).status).toBe("awaiting_review")
    }),
  )

  it.effect("are named and not shown where the work failed", () =>
    Effect.gen(function* () {
      const { get, call, runId, write } = yield* reviewed
      write("unsafe.txt", "what nobody should read\n")
      expect((yield* call("POST", `/api/runs/${runId}/cancel`)).body.status).toBe("failed")
      expect(pathsOf((yield* get("/files")).body)).toContain("unsafe.txt")
      for (const path of ["/files/unsafe.txt", "/files/unsafe.txt/content"]) {
        const { status, body } = yield* get(path)
        expect(status, path).toBe(200)
        expect(JSON.stringify(body), path).not.toContain("nobody")
      }
    }),
  )

  it.effect("do not exist for who may not see the run, and are none before there is a checkout", () =>
    Effect.gen(function* () {
      const { get, call } = yield* reviewed
      for (const path of ["/workspace", "/files", "/files/README.md", "/files/README.md/content"]) {
        expect((yield* get(path, "ben")).body, path).toMatchObject({ error: "run_not_found" })
        expect((yield* call("GET", `/api/runs/${newId()}${path}`)).body, path).toMatchObject({ error: "run_not_found" })
        expect((yield* call("GET", `/api/runs/1${path}`)).body, path).toMatchObject({ error: "run_not_found" })
      }
      const idle = yield* makeOrchestra(agentThat([]), { settings: { Runs: { Workers: 0 } } })
      expect(yield* beforeCheckout(idle)).toEqual([
        [200, []],
        [200, []],
        [404, "file_not_found"],
      ])
    }),
  )
})

const beforeCheckout = Effect.fnUntraced(function* ({ call, service, projectId, repository }: Orchestra) {
  // not driven: no replica works on it
  const { runId } = yield* service.runs.create({
    projectId,
    submittedBy: "ada",
    agentName: null,
    task: "x",
    repository: repository.path,
  })
  return yield* Effect.forEach(["/workspace", "/files", "/files/README.md"], (path) =>
    Effect.map(call("GET", `/api/runs/${runId}${path}`), ({ status, body }) => [status, body.error ?? body]),
  )
})
