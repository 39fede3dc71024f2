/** Memory to files of a real folder, and back. */
import { execFileSync } from "node:child_process"
import { mkdir, readdir, readFile, rm, symlink, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { expect, layer } from "@effect/vitest"
import { Effect } from "effect"
import { describe, it as test } from "vitest"
import { hostileTexts } from "#plugins/memory/context/hostile.examples.ts"
import { decisionsFile, readDecisions } from "#plugins/memory/files/decision-files.ts"
import { inboxFile, readInboxFile } from "#plugins/memory/files/front-matter-files.ts"
import { historyFile, readHistory } from "#plugins/memory/files/memory-files.ts"
import { memory } from "#plugins/memory/plugin.ts"
import { readLine, readText } from "#plugins/memory/text.ts"
import type { Called } from "#test/support/call-route.ts"
import { coreServices } from "#test/support/core-services.ts"
import { folders, memoryWorld } from "#test/support/memory-world.ts"

/** As they are stored: line ends of one kind. */
const stored = hostileTexts.map((text) => text.replaceAll(/\r\n?/g, "\n")).filter((text) => text.trim() !== "")

describe("a file of the memory", () => {
  test.each(stored.map((text) => [JSON.stringify(text).slice(0, 60), text]))("gives back %s", (_, text) => {
    const title = text.replaceAll(/[\p{Cc}\u2028\u2029]/gu, " ").trim() || "t"
    const common = { agentName: title, title, content: text, rationale: text }
    const decision = { ...common, type: "scope", status: "active", tags: ["a b", "-->"] } as const
    const read = { ...common, type: "scope", status: "active", tags: "a b,-->" }
    expect(readDecisions(decisionsFile([decision, decision]))).toEqual([read, read])
    expect(readInboxFile(inboxFile({ ...common, slug: "s", type: "scope" }))).toEqual({
      agent_name: title,
      slug: "s",
      type: "scope",
      title,
      content: text,
      rationale: text,
    })
    const entry = {
      ...common,
      type: "update",
      importance: 3,
      tags: ["x"],
      createdAt: "2026-02-03T04:05:06.789Z",
    } as const
    const note = { agentName: title, type: "update", importance: "high", tags: "x", day: "2026-02-03", content: text }
    expect(readHistory(historyFile([[title, [entry, entry]]]))).toEqual([note, note])
  })

  test("gives back texts that look like its own marks", () => {
    const mark = "<!-- 0123456789ab -->"
    const text = `${mark}\nx ${mark}\n\n${mark}`
    const decision = {
      agentName: `a ${mark}`,
      title: `t ${mark}`,
      content: text,
      rationale: text,
      type: "scope",
    } as const
    const [read, ...more] = readDecisions(decisionsFile([{ ...decision, status: "active", tags: [`x --> ${mark}`] }]))
    expect(read).toEqual({ ...decision, status: "active", tags: `x --> ${mark}` })
    expect(more).toEqual([])
    const entry = {
      agentName: "A",
      type: "update",
      importance: 1,
      tags: [mark],
      content: text,
      createdAt: "2026-02-03T04:05:06Z",
    } as const
    expect(readHistory(historyFile([["A", [entry]]]))).toMatchObject([{ tags: mark, content: text, importance: "low" }])
  })

  test("does not give what a merge has mixed of several entries", () => {
    const decision = (content: string) =>
      ({ agentName: "a", title: "t", content, rationale: null, type: "scope", status: "active", tags: [] }) as const
    const file = decisionsFile([decision("one"), decision("two")])
    const lines = file.split("\n")
    const [first = 0, second = 0] = lines.flatMap((line, index) => (line.startsWith("## ") ? [index] : []))
    const [one, two] = [lines.slice(first, second), lines.slice(second)]
    const read = (...mixed: ReadonlyArray<string>) => readDecisions(mixed.join("\n")).map((each) => each?.content)
    expect(read(...one, ...two)).toEqual(["one", "two"])
    expect(read(...one.slice(0, 3), ...two)).toEqual([undefined, "two"])
    expect(read(...one.slice(0, 2), ...two.slice(0, 2), ...one.slice(2), ...two.slice(2))).toEqual([
      undefined,
      undefined,
    ])
    // what people write has no marks, and what they change is taken as they left it
    expect(read(...one.map((line) => line.replace(/ ?<!-- .* -->/, "")))).toEqual(["one"])
    expect(read(...one.map((line) => line.replace("one", "other")))).toEqual(["other"])
  })

  test("holds only what the texts of the memory may be", () => {
    expect(readText("a\u0000", "body.x", 10)._tag).toBe("Failure")
    expect(readText("\ud800", "body.x", 10)._tag).toBe("Failure")
    expect(readLine("a\u2028b", "body.x", 10)._tag).toBe("Failure")
  })
})

const treeOf = async (folder: string) => {
  const names = (await readdir(folder, { recursive: true, withFileTypes: true })).filter((each) => each.isFile())
  const files = names.map((each) => join(each.parentPath, each.name)).toSorted()
  const texts = files.map(async (file) => [file.slice(folder.length), await readFile(file, "utf8")] as const)
  return Object.fromEntries(await Promise.all(texts))
}

const world = Effect.gen(function* () {
  const made = yield* memoryWorld([memory])
  const transfer = (what: "export" | "import", as = "rob") => made.call("POST", `/memory/${what}`, { as })
  const tree = Effect.promise(() => treeOf(made.folder))
  const write = (path: string, text: string) =>
    Effect.promise(async () => {
      await mkdir(join(made.folder, path, ".."), { recursive: true })
      await writeFile(join(made.folder, path), text)
    })
  return { ...made, transfer, tree, write }
})

layer(coreServices({}, folders), { excludeTestServices: true, timeout: "60 seconds" })(
  "the files of the memory",
  (it) => {
    it.effect("exported, imported into an empty project and exported again are the same, byte for byte", () =>
      Effect.gen(function* () {
        const one = yield* world
        const two = yield* world
        const texts = stored.filter((_, index) => index % 5 === 0)
        const post = (path: string, body: object) =>
          Effect.map(one.call("POST", path, { body }), ({ status, body: made }) => {
            expect(status).toBe(201)
            return made
          })
        const types = ["architectural", "scope", "process", "learning"]
        const decisions: Array<number> = []
        for (const [index, content] of texts.entries()) {
          const rationale = index % 2 === 0 ? content : null
          const body = {
            type: types[index % 4],
            title: `T ${index}`,
            content,
            rationale,
            tags: index % 3 === 0 ? "a,b" : "",
          }
          decisions.push((yield* post("/decisions", body)).id)
          const agent_name = index % 2 === 0 ? "Ripley" : "日本"
          yield* post("/decisions/inbox", { ...body, slug: `s.${index % 7}-${index}`, agent_name })
          for (const agent of ["Ripley", "ripley", "Bob Ray", "日本"]) {
            const type = ["learning", "update", "pattern", "core_context"][index % 4]
            const importance = ["low", "medium", "high"][index % 3]
            yield* post(`/agents/${encodeURIComponent(agent)}/memory`, { type, content, importance, tags: "x,y z" })
          }
        }
        // said twice is there twice
        for (let twice = 0; twice < 2; twice++) yield* post("/agents/Bob/memory", { type: "update", content: "twice" })
        yield* one.call("PUT", `/decisions/${decisions[0]}`, { body: { superseded_by_id: decisions[1] } })
        yield* one.sql`update memory_entries set created_at = created_at - (entry_id % 9) * interval '1 day'`
        yield* post("/sessions", { focus: "the\nfocus", active_issues: "#1", summary: "---\nso far" })

        expect((yield* one.transfer("export")).body).toMatchObject({ exported: true, decisions: texts.length })
        const before = yield* one.tree
        expect(Object.keys(before).length).toBeGreaterThan(texts.length)
        for (const [path, text] of Object.entries(before)) yield* two.write(path, text)
        const imported = yield* two.transfer("import")
        expect(imported.body).toMatchObject({
          imported: texts.length,
          decisions: texts.length,
          sessions: 1,
          skipped: [],
        })
        yield* Effect.promise(() => rm(join(two.folder, ".squad"), { recursive: true }))
        yield* Effect.promise(() => rm(join(two.folder, ".svc"), { recursive: true }))
        yield* two.transfer("export")
        expect(yield* two.tree).toEqual(before)

        // once more brings nothing new, and nothing of it is believed
        const again = { imported: 0, decisions: 0, memories: 0, sessions: 0, skipped: [] }
        expect((yield* two.transfer("import")).body).toEqual(again)
        const trust = yield* two.sql`
        select distinct trust_state, source_kind, trust from memory_entries where project_id = ${two.projectId}`
        expect(trust).toEqual([{ trust_state: "pending", source_kind: "import", trust: 0 }])
        expect((yield* two.call("GET", "/decisions?status=all&page_size=1")).body.items[0].trustState).toBe("pending")
      }),
    )

    it.effect("are those that the interface names, merge by lines, and lose what is stale", () =>
      Effect.gen(function* () {
        const { call, transfer, tree, write } = yield* world
        yield* write(".squad/.gitattributes", "*.bin binary")
        const proposal = { agent_name: "A", slug: "s", type: "scope", title: "t", content: "c" }
        const { id } = (yield* call("POST", "/decisions/inbox", { body: proposal })).body
        yield* call("POST", "/agents/Bob Ray/memory".replace(" ", "%20"), { body: { type: "update", content: "c" } })
        yield* transfer("export")
        const files = yield* tree
        expect(Object.keys(files)).toEqual([
          "/.squad/.gitattributes",
          "/.squad/agents/bob-ray/history.md",
          "/.squad/decisions.md",
          "/.squad/decisions/inbox/s.md",
          "/.svc/context/.gitattributes",
          "/.svc/context/boundaries.md",
          "/.svc/context/patterns.md",
        ])
        expect(files["/.squad/.gitattributes"]).toBe(
          "*.bin binary\ndecisions.md merge=union\nagents/*/history.md merge=union\n",
        )
        yield* call("POST", `/decisions/inbox/${id}/merge`)
        yield* transfer("export")
        const later = yield* tree
        expect(later["/.squad/decisions/inbox/s.md"]).toBeUndefined()
        expect(later["/.squad/decisions.md"]).toContain("**Type:** scope | **By:** A | **Status:** active")
        expect(later["/.svc/context/boundaries.md"]).toContain("## t")
      }),
    )

    it.effect("of two branches are merged by git itself: each entry of both is there, and whole", () =>
      Effect.gen(function* () {
        const [one, two, three] = [yield* world, yield* world, yield* world]
        const git = (...args: ReadonlyArray<string>) =>
          execFileSync("git", ["-c", "user.name=n", "-c", "user.email=e@x", ...args], { cwd: three.folder })
        const copy = Effect.fnUntraced(function* (from: { readonly tree: typeof one.tree }) {
          for (const [path, text] of Object.entries(yield* from.tree)) yield* three.write(path, text)
        })
        const tell = Effect.fnUntraced(function* ({ call }: typeof one, text: string) {
          // as alike as can be: the same title, type, tags, agent and day, and content that begins and ends the same
          const said = { content: `Context\n\n${text}\nThat is all.`, tags: "a,b" }
          const made = [
            yield* call("POST", "/decisions", {
              body: { ...said, type: "scope", title: "Same", rationale: "Why not." },
            }),
            yield* call("POST", "/agents/Bob/memory", { body: { ...said, type: "learning" } }),
            yield* call("POST", "/agents/Bob/memory", { body: { ...said, type: "pattern" } }),
          ]
          expect(made.map(({ status }) => status)).toEqual([201, 201, 201])
        })
        for (const branch of [one, two]) {
          yield* tell(branch, "what both know")
          yield* branch.transfer("export")
        }
        git("init", "--quiet", "--initial-branch=main")
        yield* copy(one)
        git("add", "-A")
        git("commit", "--quiet", "-m", "both")
        for (const [name, branch] of [
          ["one", one],
          ["two", two],
        ] as const) {
          git("switch", "--quiet", "-c", name, "main")
          yield* tell(branch, `what ${name} knows`)
          yield* branch.transfer("export")
          yield* copy(branch)
          git("commit", "--quiet", "-a", "-m", name)
        }
        git("merge", "--quiet", "-m", "merge", "one")
        const imported = yield* three.transfer("import")
        expect(imported.body).toMatchObject({ decisions: 3, memories: 6, skipped: [] })
        const contents = ["one knows", "two knows", "both know"]
          .map((what) => `Context\n\nwhat ${what}\nThat is all.`)
          .toSorted()
        const said = ({ body }: Called): ReadonlyArray<string> =>
          body.map(({ content }: { content: string }) => content)
        const decisions = yield* three.call("GET", "/decisions")
        expect(said(decisions).toSorted()).toEqual(contents)
        expect(decisions.body.map(({ rationale }: { rationale: string }) => rationale)).toEqual(
          Array(3).fill("Why not."),
        )
        for (const type of ["learning", "pattern"]) {
          expect(said(yield* three.call("GET", `/memory?type=${type}`)).toSorted()).toEqual(contents)
        }
      }),
    )

    it.effect("never lie outside of the repository: a link is refused, and nothing behind it is read or written", () =>
      Effect.gen(function* () {
        const { call, transfer, folder, write } = yield* world
        const outside = yield* world
        yield* outside.write("decisions.md", "outside")
        yield* outside.write("decisions/inbox/x.md", "---\nagent: A\nslug: x\ntype: scope\ntitle: t\n---\n\nstolen\n")
        yield* call("POST", "/decisions", { body: { type: "scope", content: "c" } })
        const link = (to: string, from: string) =>
          Effect.promise(() => symlink(join(outside.folder, to), join(folder, from)))
        yield* link(".", ".squad")
        expect((yield* transfer("export")).body).toMatchObject({
          error: "conflict",
          message: ".squad is not a folder.",
        })
        expect((yield* transfer("import")).status).toBe(409)
        yield* Effect.promise(() => rm(join(folder, ".squad")))
        yield* write(".squad/decisions/inbox/y.md", "")
        yield* link("decisions.md", ".squad/decisions.md")
        yield* link("decisions/inbox/x.md", ".squad/decisions/inbox/x.md")
        expect((yield* transfer("export")).body).toMatchObject({ message: ".squad/decisions.md is a link." })
        const imported = yield* transfer("import")
        expect(imported.body.imported).toBe(0)
        expect(imported.body.skipped).toContainEqual({
          file: ".squad/decisions.md",
          reason: ".squad/decisions.md is a link.",
        })
        const after = yield* outside.tree
        expect(after["/decisions.md"]).toBe("outside")
        expect(Object.keys(after)).toHaveLength(2)
      }),
    )

    it.effect("that cannot be read are left out, and named", () =>
      Effect.gen(function* () {
        const { call, transfer, write } = yield* world
        const inbox = ".squad/decisions/inbox"
        yield* write(`${inbox}/plain.md`, "no front matter")
        yield* write(`${inbox}/bomb.md`, "---\na: &a [1]\nb: [*a, *a]\n---\n\nc")
        yield* write(`${inbox}/slug.md`, "---\nagent: A\nslug: ../../up\ntype: scope\n---\n\nc")
        yield* write(`${inbox}/ok.md`, "---\nagent: A\nslug: ok\ntype: scope\n---\n\nyes\n\n**Rationale:** because\n")
        yield* write(
          ".squad/decisions.md",
          "# Decisions\n\n## no meta\n\nx\n\n---\n\n## t\n\n**Type:** x | **By:** a | **Status:** active\n\nx\n",
        )
        yield* write(
          ".squad/agents/a/history.md",
          "# History of A\n\n### [learning] 2026-02-30\n\nx\n\n### [learning] 2026-02-03\n\nkept\n",
        )
        const { body } = yield* transfer("import")
        expect(body).toMatchObject({ imported: 1, decisions: 0, memories: 1 })
        expect(body.skipped.map(({ file }: { file: string }) => file).sort()).toEqual([
          ".squad/agents/a/history.md",
          ".squad/decisions.md",
          ".squad/decisions.md",
          `${inbox}/bomb.md`,
          `${inbox}/plain.md`,
          `${inbox}/slug.md`,
        ])
        expect((yield* call("GET", "/decisions/inbox")).body).toMatchObject([
          { slug: "ok", title: "ok", content: "yes", rationale: "because", sourceKind: "import" },
        ])
        expect((yield* call("GET", "/memory")).body[0].created_at).toBe("2026-02-03T00:00:00.000Z")
        expect((yield* transfer("export", "vic")).status).toBe(403)
      }),
    )

    it.effect("are not read where they are too large, and are written all the same", () =>
      Effect.gen(function* () {
        const { transfer, tree, write, folder } = yield* world
        yield* write(".squad/decisions/inbox/large.md", "x".repeat(300_000))
        yield* write(".squad/decisions.md", "x".repeat(9_000_000))
        yield* write(".squad/agents/a/history.md", "")
        yield* Effect.promise(() => rm(join(folder, ".squad/agents/a/history.md")))
        yield* Effect.promise(() => mkdir(join(folder, ".squad/agents/a/history.md")))
        const { body } = yield* transfer("import")
        expect(body).toEqual({
          imported: 0,
          decisions: 0,
          memories: 0,
          sessions: 0,
          skipped: [
            { file: ".squad/decisions/inbox/large.md", reason: expect.stringContaining("is larger than") },
            { file: ".squad/agents/a/history.md", reason: ".squad/agents/a/history.md is not a file." },
            { file: ".squad/decisions.md", reason: expect.stringContaining("is larger than") },
          ],
        })
        expect((yield* transfer("export")).status).toBe(200)
        expect((yield* tree)["/.squad/decisions.md"]).toBe("# Decisions\n")
      }),
    )
  },
)
