/** What agents are told of the memory, asked as a turn asks. */
import { expect, layer } from "@effect/vitest"
import { Effect } from "effect"
import { EventLog } from "#core/event-log.ts"
import type { NewRun } from "#core/run/new-run.ts"
import { untrustedFormat } from "#core/untrusted-context.ts"
import { hostileTexts } from "#plugins/memory/context/hostile.examples.ts"
import { memory } from "#plugins/memory/plugin.ts"
import { agentContext } from "#policies/agent-context/question.ts"
import { coreServices } from "#test/support/core-services.ts"
import { folders, memoryWorld } from "#test/support/memory-world.ts"

const setUp = Effect.gen(function* () {
  const world = yield* memoryWorld([memory])
  const log = yield* EventLog
  const told = Effect.fnUntraced(function* (agentName: string, more: Partial<NewRun> = {}) {
    const { runId } = yield* world.newRun(agentName, more)
    const ours = [{ id: "rules", title: "Rules", text: "be good" }]
    const asked = { runId, projectId: world.projectId, agentName, task: "t", sections: ours }
    const { sections } = yield* world.host.hooks.ask(agentContext, asked, { runId })
    expect(sections[0]).toEqual(ours[0])
    const section = sections.find(({ id }) => id === "memory")
    const events = yield* log.read(runId, { type: "memory.context_composition" })
    const envelope = section === undefined ? undefined : JSON.parse(section.text.split("\n").at(-1) ?? "")
    const contents: ReadonlyArray<string> = envelope?.memories.map(({ content }: { content: string }) => content) ?? []
    return { runId, section, envelope, contents, events: events.map(({ payload }) => JSON.parse(payload)) }
  })
  const remember = (name: string, body: object) =>
    Effect.map(world.call("POST", `/agents/${name}/memory`, { body }), (answer) => {
      expect(answer.status).toBe(201)
      return answer.body.id as number // the answer was checked against its schema
    })
  const promote = (name: string, id: number) => world.call("POST", `/agents/${name}/memory/${id}/promote`)
  return { ...world, log, told, remember, promote }
})

const important = { type: "learning", importance: "high" }

layer(coreServices({}, folders), { excludeTestServices: true, timeout: "60 seconds" })("an agent is told", (it) => {
  it.effect("nothing where nothing is stored", () =>
    Effect.gen(function* () {
      const { told } = yield* setUp
      expect(yield* told("Ripley")).toMatchObject({ section: undefined, events: [] })
    }),
  )

  it.effect("of its own notes, and of others' only where they are approved, important and for all", () =>
    Effect.gen(function* () {
      const { told, remember, promote } = yield* setUp
      yield* remember("Ripley", { type: "core_context", content: "own core", importance: "low" })
      yield* remember("Ripley", { ...important, content: "own learning" })
      yield* remember("Ripley", { type: "learning", content: "own, not important" })
      yield* remember("Ripley", { type: "update", importance: "high", content: "own update" })
      yield* remember("Bob", { ...important, content: "not approved", tags: "cross-team" })
      const shared = yield* remember("Bob", { ...important, content: "shared", tags: "x,cross-team" })
      const untagged = yield* remember("Bob", { ...important, content: "not tagged" })
      const core = yield* remember("Bob", {
        type: "core_context",
        importance: "high",
        content: "core",
        tags: "cross-team",
      })
      const low = yield* remember("Bob", { type: "pattern", content: "not important", tags: "cross-team" })
      for (const id of [shared, untagged, core, low]) yield* promote("Bob", id)
      const { contents, events, envelope } = yield* told("Ripley")
      expect(contents).toEqual(["shared", "own learning", "own core"])
      expect(envelope.format).toBe(untrustedFormat)
      expect(events).toEqual([
        {
          included: {
            decisions: [],
            memories: [expect.any(Number), expect.any(Number), expect.any(Number)],
            session: null,
          },
          omittedMemoryCount: 0,
          omittedSessionCount: 0,
          omissionCauses: [],
        },
      ])
      expect(JSON.stringify(events)).not.toContain("own learning")
    }),
  )

  it.effect("of approved architectural and scope decisions while they are active, and of the open session", () =>
    Effect.gen(function* () {
      const { told, call, agent } = yield* setUp
      const decide = (body: object) => Effect.map(call("POST", "/decisions", { body }), ({ body: made }) => made)
      const old = yield* decide({ type: "scope", title: "old", content: "c" })
      const now = yield* decide({ type: "architectural", title: "now", content: "c" })
      yield* decide({ type: "process", title: "process", content: "c" })
      const coordinator = yield* agent("Coordinator")
      yield* coordinator.call("POST", "/decisions", { type: "scope", title: "not approved", content: "c" })
      yield* call("PUT", `/decisions/${old.id}`, { body: { superseded_by_id: now.id } })
      yield* call("POST", "/sessions", { body: { focus: "the login", summary: "half done" } })
      const { envelope } = yield* told("Ripley")
      expect(envelope.decisions.map(({ title }: { title: string }) => title)).toEqual(["now"])
      expect(envelope.session).toMatchObject({ focus: "the login", summary: "half done", active_issues: null })
    }),
  )

  it.effect("of the decisions alone where its run is a part of another's work", () =>
    Effect.gen(function* () {
      const { told, remember, call, newRun } = yield* setUp
      const { runId: parentRunId } = yield* newRun("Coordinator")
      yield* remember("Ripley", { ...important, content: "own learning" })
      yield* call("POST", "/sessions", { body: { focus: "the login" } })
      yield* call("POST", "/decisions", { body: { type: "scope", title: "t", content: "c" } })
      const child = yield* told("Ripley", { parentRunId })
      expect(child.envelope).toMatchObject({ decisions: [{ title: "t" }], memories: [], session: null })
      expect(child.events).toMatchObject([
        { omittedMemoryCount: 1, omittedSessionCount: 1, omissionCauses: ["child_run"] },
      ])
      expect((yield* told("Ripley")).contents).toEqual(["own learning"])
    }),
  )

  it.effect("of nothing from before provenance was kept, until it is approved", () =>
    Effect.gen(function* () {
      const { told, sql, projectId, promote, call } = yield* setUp
      const [row] = yield* sql<{ readonly id: number }>`
        insert into memory_entries (project_id, agent_name, type, importance, content, source_kind, source_identity, trust_state)
        values (${projectId}, 'Ripley', 'core_context', 3, 'legacy note', 'legacy', 'before', 'legacy')
        returning entry_id as id`
      const [decision] = yield* sql<{ readonly id: number }>`
        insert into memory_decisions (project_id, agent_name, type, title, content, source_kind, source_identity, trust_state)
        values (${projectId}, 'Ripley', 'scope', 't', 'legacy decision', 'legacy', 'before', 'legacy')
        returning decision_id as id`
      expect((yield* told("Ripley")).section).toBeUndefined()
      yield* promote("Ripley", row?.id ?? 0)
      yield* call("POST", `/decisions/${decision?.id}/approve`)
      const { contents, envelope } = yield* told("Ripley")
      expect(contents).toEqual(["legacy note"])
      expect(envelope.decisions).toHaveLength(1)
    }),
  )
})

const roomy = coreServices({ MemoryContext: { MaxTokens: 100_000 } }, folders)

layer(roomy, { excludeTestServices: true, timeout: "60 seconds" })("with much room, an agent is told", (it) => {
  it.effect("200 hostile texts as data: parsing the context gives exactly what was stored", () =>
    Effect.gen(function* () {
      const { told, sql, projectId } = yield* setUp
      yield* sql`
        insert into memory_decisions (project_id, agent_name, type, title, content, source_kind, source_identity,
          trust_state, approved_by, approved_at)
        select ${projectId}, 'A', 'scope', t, t, 'user', 'ada', 'approved', 'ada', now()
          from unnest(${hostileTexts}::text[]) with ordinality as u(t, n) order by n`
      const { section, envelope } = yield* told("Ripley")
      expect(envelope.decisions.map(({ content }: { content: string }) => content)).toEqual(hostileTexts)
      expect(section?.text.split("\n").filter((line) => line.includes(untrustedFormat))).toHaveLength(2)
    }),
  )
})

const tight = coreServices({ MemoryContext: { MaxItems: 2, MaxTokens: 150 } }, folders)

layer(tight, { excludeTestServices: true, timeout: "60 seconds" })("with little room, an agent is told", (it) => {
  it.effect("the newest, and the log says what was left out and why", () =>
    Effect.gen(function* () {
      const { told, remember } = yield* setUp
      for (const content of ["first", "second", "third"]) yield* remember("Ripley", { ...important, content })
      const { contents, events } = yield* told("Ripley")
      expect(contents).toEqual(["third", "second"])
      expect(events[0]).toMatchObject({ omittedMemoryCount: 1, omissionCauses: ["max_items"] })
    }),
  )

  it.effect("nothing, and no model is asked, where the decisions do not fit; the reason is in the log", () =>
    Effect.gen(function* () {
      const { host, told, call, log, newRun, projectId } = yield* setUp
      yield* call("POST", "/decisions", { body: { type: "scope", title: "t", content: "x".repeat(900) } })
      const { runId } = yield* newRun("Ripley")
      for (let turn = 0; turn < 6; turn++) {
        const asked = { runId, projectId, agentName: "Ripley", task: "t", sections: [] }
        const refusal = yield* Effect.flip(host.hooks.ask(agentContext, asked, { runId }))
        expect(refusal).toMatchObject({ code: "plugin_unavailable" })
      }
      const [fault] = yield* log.read(runId, { type: "policy.fault" })
      expect(fault?.payload).toContain("MemoryContext:MaxTokens is 150")
      // it is the project's matter, and no fault of the plugin
      expect((yield* host.list)[0]).toMatchObject({ state: "running", faults: 0 })
      const [decision] = (yield* call("GET", "/decisions")).body
      yield* call("PUT", `/decisions/${decision.id}`, { body: { status: "archived" } })
      expect((yield* told("Ripley")).section).toBeUndefined()
    }),
  )
})
