/** Decisions, inbox, memory and sessions over HTTP: shapes, statuses, and who may do what. */
import { expect, layer } from "@effect/vitest"
import { Effect } from "effect"
import { coordinatorAgent } from "#core/run/run.ts"
import { memory } from "#plugins/memory/plugin.ts"
import { accessDifferences } from "#test/contract/access.ts"
import { coreServices } from "#test/support/core-services.ts"
import { folders, makeProject, memoryWorld } from "#test/support/memory-world.ts"

const world = memoryWorld([memory])
const proposal = { agent_name: "Ripley", slug: "use-pg", type: "architectural", title: "Use PG", content: "We use PG." }

layer(coreServices({}, folders), { excludeTestServices: true, timeout: "60 seconds" })("the memory", (it) => {
  it.effect("has every route, with the access of the interface", () =>
    Effect.gen(function* () {
      const { routes, host } = yield* world
      expect(routes).toHaveLength(23)
      expect(accessDifferences(routes)).toEqual([])
      expect((yield* host.tools).map(({ tool }) => tool.name)).toHaveLength(17)
    }),
  )

  it.effect("takes a proposal: 201, then 200 in place, and 409 once it is decided", () =>
    Effect.gen(function* () {
      const { call } = yield* world
      const first = yield* call("POST", "/decisions/inbox", { as: "rob", body: proposal })
      expect(first.status).toBe(201)
      expect(first.body).toMatchObject({
        agentName: "Ripley",
        slug: "use-pg",
        status: "pending",
        decision_id: null,
        merged_at: null,
        rationale: null,
        sourceKind: "user",
        sourceIdentity: "rob",
      })
      const again = yield* call("POST", "/decisions/inbox", { as: "rob", body: { ...proposal, content: "Always." } })
      expect(again).toMatchObject({ status: 200, body: { id: first.body.id, content: "Always." } })
      const merged = yield* call("POST", `/decisions/inbox/${first.body.id}/merge`)
      expect(merged).toMatchObject({ status: 201, body: { id: first.body.id, status: "merged" } })
      const twice = yield* call("POST", `/decisions/inbox/${first.body.id}/promote`)
      expect(twice).toMatchObject({ status: 409, body: { message: "Entry is not pending or does not exist." } })
      expect((yield* call("POST", "/decisions/inbox", { body: proposal })).status).toBe(409)
      const decision = yield* call("GET", `/decisions/${merged.body.decisionId}`)
      expect(decision.body).toMatchObject({
        type: "architectural",
        status: "active",
        content: "Always.",
        trustState: "approved",
        approvedBy: "ada",
      })
      expect((yield* call("GET", "/decisions/inbox")).body).toEqual([])
      expect((yield* call("GET", "/decisions/inbox?status=merged&page=1")).body.total_count).toBe(1)
    }),
  )

  it.effect("gives another agent's proposal of the same slug a name of its own", () =>
    Effect.gen(function* () {
      const { call } = yield* world
      const slugs: Array<string> = []
      for (const agent_name of ["Ripley", "Bob Ray", "bob-ray", "Bob_Ray"]) {
        slugs.push((yield* call("POST", "/decisions/inbox", { body: { ...proposal, agent_name } })).body.slug)
      }
      expect(slugs).toEqual(["use-pg", "use-pg--bob-ray", "use-pg--bob-ray--2", "use-pg--bob-ray--3"])
      const same = yield* call("POST", "/decisions/inbox", { body: { ...proposal, agent_name: "bob-ray" } })
      expect(same).toMatchObject({ status: 200, body: { slug: "use-pg--bob-ray--2" } })
    }),
  )

  it.effect("says all that is wrong with an input at once", () =>
    Effect.gen(function* () {
      const { call } = yield* world
      const { status, body } = yield* call("POST", "/decisions/inbox", { body: { slug: "../up", content: " " } })
      expect(status).toBe(400)
      expect(body.issues.map(({ path }: { path: string }) => path)).toEqual([
        "body.agent_name",
        "body.slug",
        "body.type",
        "body.content",
      ])
      expect((yield* call("POST", "/agents/Ripley/memory", { body: { type: "nope", content: "" } })).status).toBe(400)
      expect((yield* call("GET", "/decisions?type=nope")).status).toBe(400)
      expect((yield* call("GET", "/decisions/abc")).status).toBe(400)
      expect((yield* call("GET", "/decisions/1")).status).toBe(404)
      expect((yield* call("GET", "/agents/Ripley/memory/1")).body).toMatchObject({ error: "memory_not_found" })
    }),
  )

  it.effect("takes, changes, supersedes and approves decisions", () =>
    Effect.gen(function* () {
      const { call } = yield* world
      const one = yield* call("POST", "/decisions", {
        body: { type: "process", title: "t", content: "c", tags: "a, b" },
      })
      expect(one).toMatchObject({ status: 201, body: { agent_name: "ada", tags: "a,b", trustState: "approved" } })
      const two = (yield* call("POST", "/decisions", { body: { type: "scope", content: "only this\nand that" } })).body
      expect(two.title).toBe("only this")
      const path = `/decisions/${one.body.id}`
      expect((yield* call("PUT", path, { body: { superseded_by_id: 999_999 } })).status).toBe(404)
      expect((yield* call("PUT", path, { body: { superseded_by_id: one.body.id } })).status).toBe(400)
      expect((yield* call("PUT", path, { body: { superseded_by_id: two.id } })).body).toMatchObject({
        status: "superseded",
        superseded_by_id: two.id,
      })
      expect((yield* call("GET", "/decisions")).body.map(({ id }: { id: number }) => id)).toEqual([two.id])
      expect((yield* call("PUT", path, { body: { status: "active" } })).body.superseded_by_id).toBeNull()
      expect((yield* call("POST", `${path}/approve`)).body.approvedBy).toBe("ada")
    }),
  )

  it.effect("keeps memories of agents, and finds them by any of their tags, newest first", () =>
    Effect.gen(function* () {
      const { call } = yield* world
      const ids: Array<number> = []
      for (const tags of ["a,b", "b", "c", undefined]) {
        const body = { type: "learning", content: `about ${tags}`, tags }
        ids.push((yield* call("POST", "/agents/Ripley/memory", { body })).body.id)
      }
      const found = (yield* call("GET", "/memory?tags=c,a")).body
      expect(found.map(({ id }: { id: number }) => id)).toEqual([ids[2], ids[0]])
      expect(found[1]).toMatchObject({
        agentName: "Ripley",
        importance: "medium",
        tags: "a,b",
        trustState: "pending",
        effectiveTrust: "own_agent",
      })
      expect((yield* call("GET", "/memory?tags=')--,%25")).body).toEqual([])
      const put = yield* call("PUT", `/agents/Ripley/memory/${ids[0]}`, { body: { importance: "high" } })
      expect(put.body).toMatchObject({ importance: "high", tags: "a,b" })
      const high = yield* call("GET", "/agents/Ripley/memory?importance=high&page_size=2")
      expect(high.body).toMatchObject({ total_count: 1, items: [{ id: ids[0] }] })
      expect((yield* call("GET", `/agents/Other/memory/${ids[0]}`)).status).toBe(404)
      const promoted = yield* call("POST", `/agents/Ripley/memory/${ids[0]}/promote`)
      expect(promoted.body).toMatchObject({ trustState: "approved", approvedBy: "ada", heldBackBy: [] })
      const one = `/agents/Ripley/memory/${ids[0]}`
      const same = yield* call("PUT", one, { as: "rob", body: { importance: "high", tags: "a,b" } })
      expect(same.body).toMatchObject({ trustState: "approved", approvedBy: "ada" })
      const changed = yield* call("PUT", one, { as: "rob", body: { content: "something else" } })
      expect(changed.body).toMatchObject({ trustState: "pending", approvedBy: null, sourceIdentity: "rob" })
    }),
  )

  it.effect("has one open session, whatever is started at once", () =>
    Effect.gen(function* () {
      const { call } = yield* world
      expect((yield* call("GET", "/sessions/current")).status).toBe(404)
      expect((yield* call("POST", "/sessions", { body: {} })).status).toBe(400)
      const started = yield* Effect.all(
        Array.from({ length: 8 }, (_, i) =>
          call("POST", "/sessions", { body: { focus: `f${i}`, session_id: `s${i}` } }),
        ),
        { concurrency: "unbounded" },
      )
      expect(started.map(({ status }) => status)).toEqual(Array.from({ length: 8 }, () => 201))
      const all = (yield* call("GET", "/sessions")).body
      expect(all.filter(({ ended_at }: { ended_at: string | null }) => ended_at === null)).toHaveLength(1)
      expect((yield* call("POST", "/sessions", { body: { focus: "x", session_id: "s1" } })).status).toBe(409)
      const set = yield* call("PUT", "/sessions/current", { body: { summary: "so far", active_issues: "1" } })
      expect(set.body).toMatchObject({ summary: "so far", activeIssues: "1", ended_at: null })
      const ended = yield* call("PATCH", `/sessions/${set.body.id}`, { body: { end: true } })
      expect(ended.body.ended_at).not.toBeNull()
      expect((yield* call("PUT", "/sessions/current", { body: { summary: "" } })).status).toBe(404)
    }),
  )

  it.effect("is read by viewers, written by contributors and decided by owners", () =>
    Effect.gen(function* () {
      const { call } = yield* world
      const { id } = (yield* call("POST", "/decisions/inbox", { as: "rob", body: proposal })).body
      const mine = (yield* call("POST", "/agents/A/memory", { as: "rob", body: { type: "learning", content: "c" } }))
        .body
      const statuses = Effect.fnUntraced(function* (as: string) {
        const asked = yield* Effect.all([
          call("GET", "/decisions", { as }),
          call("POST", "/sessions", { as, body: { focus: "x" } }),
          call("POST", `/decisions/inbox/${id}/reject`, { as }),
          call("POST", "/decisions", { as, body: { type: "scope", content: "c" } }),
          call("POST", `/agents/A/memory/${mine.id}/promote`, { as }),
        ])
        return asked.map(({ status }) => status)
      })
      expect(yield* statuses("eve")).toEqual([403, 403, 403, 403, 403])
      expect(yield* statuses("vic")).toEqual([200, 403, 403, 403, 403])
      expect(yield* statuses("rob")).toEqual([200, 201, 403, 403, 403])
      expect(yield* statuses("svc-internal")).toEqual([403, 403, 403, 403, 403])
      expect(yield* statuses("ada")).toEqual([200, 201, 200, 201, 200])
    }),
  )

  it.effect("lets agents in by the capability of their run alone, as their own agent, in their own project", () =>
    Effect.gen(function* () {
      const { call, agent, capabilities, runs, sql } = yield* world
      const ripley = yield* agent("Ripley")
      const sent = yield* ripley.call("POST", "/decisions/inbox", { ...proposal, agent_name: undefined })
      expect(sent).toMatchObject({ status: 201, body: { agentName: "Ripley", sourceKind: "agent" } })
      expect(sent.body.sourceRunId).toBe(ripley.run.runId)
      expect((yield* ripley.call("POST", "/decisions/inbox", { ...proposal, agent_name: "Bob" })).status).toBe(403)
      expect((yield* ripley.call("POST", "/agents/Bob/memory", { type: "learning", content: "c" })).status).toBe(403)
      expect((yield* ripley.call("POST", `/decisions/inbox/${sent.body.id}/merge`)).status).toBe(403)
      expect((yield* ripley.call("POST", "/decisions", { type: "scope", content: "c" })).status).toBe(403)

      const other = yield* makeProject
      expect((yield* ripley.call("GET", `/api/projects/${other.projectId}/decisions`)).status).toBe(403)
      const headers = { "svc-run-capability": ripley.token }
      expect((yield* call("GET", "/decisions", { as: "ada", headers })).status).toBe(401)
      expect((yield* call("GET", "/decisions", { as: null, headers })).status).toBe(401)
      const wrong = { "svc-run-capability": "A".repeat(43) }
      expect((yield* call("GET", "/decisions", { as: "svc-internal", headers: wrong })).status).toBe(401)

      const stored = yield* sql`select encode(digest, 'hex') as digest from run_capabilities`
      expect(JSON.stringify(stored)).not.toContain(ripley.token)
      expect((yield* ripley.call("GET", "/decisions")).status).toBe(200)
      yield* capabilities.revoke(ripley.run.runId)
      expect((yield* ripley.call("GET", "/decisions")).status).toBe(401)
      const ended = yield* agent("Ripley")
      yield* runs.cancel(ended.run.runId, { reason: "cancelled", by: "ada" })
      expect((yield* ended.call("GET", "/decisions")).status).toBe(401)
    }),
  )

  it.effect("believes nothing that an agent writes after it was given what others wrote", () =>
    Effect.gen(function* () {
      const { call, agent, sql, projectId } = yield* world
      const kindAfter = Effect.fnUntraced(function* (name: string, ...reads: ReadonlyArray<string>) {
        const reader = yield* agent(name)
        for (const path of reads) expect((yield* reader.call("GET", path)).status).toBe(200)
        const kept = yield* reader.call("POST", `/agents/${name}/memory`, { type: "learning", content: "c" })
        return [kept.body.sourceKind, kept.body.effectiveTrust]
      })
      const own = ["agent", "own_agent"]
      const foreign = ["external_tool", "untrusted"]
      yield* call("POST", "/decisions", { body: { type: "scope", content: "c" } })
      yield* call("POST", "/sessions", { body: { focus: "f" } })
      const everything = ["/decisions/inbox", "/decisions", "/sessions", "/sessions/current", "/memory"]
      expect(yield* kindAfter("Ann", ...everything)).toEqual(own)
      expect(yield* kindAfter(coordinatorAgent, ...everything)).toEqual(own)

      yield* call("POST", "/decisions/inbox", { body: proposal })
      expect(yield* kindAfter("Ann", "/decisions/inbox")).toEqual(foreign)
      expect(yield* kindAfter("Ann", "/decisions/inbox?status=merged")).toEqual(own)
      const other = yield* agent(coordinatorAgent)
      const { body } = yield* other.call("POST", "/decisions", { type: "process", content: "nobody vouched for it" })
      expect(yield* kindAfter(coordinatorAgent, `/decisions/${body.id}`)).toEqual(foreign)
      expect(yield* kindAfter(coordinatorAgent, "/decisions")).toEqual(foreign)
      expect(yield* kindAfter("Ann", "/decisions")).toEqual(own)
      yield* sql`update memory_sessions set trusted = false where project_id = ${projectId}`
      expect(yield* kindAfter("Ann", "/sessions/current")).toEqual(foreign)
      expect(yield* kindAfter("Ann", "/sessions")).toEqual(foreign)
      // what it was given stays with the run, and goes with it alone
      expect(yield* kindAfter("Ann")).toEqual(own)
    }),
  )

  it.effect("lets a coordinator decide, but not vouch for decisions or for text of strangers", () =>
    Effect.gen(function* () {
      const { call, agent } = yield* world
      const coordinator = yield* agent(coordinatorAgent)
      const { id } = (yield* call("POST", "/decisions/inbox", { body: proposal })).body
      const merged = yield* coordinator.call("POST", `/decisions/inbox/${id}/merge`)
      expect(merged.status).toBe(201)
      const path = `/decisions/${merged.body.decisionId}`
      expect((yield* call("GET", path)).body).toMatchObject({ trustState: "pending", approvedBy: null })
      expect((yield* coordinator.call("POST", `${path}/approve`)).status).toBe(403)
      expect((yield* call("POST", `${path}/approve`)).body.trustState).toBe("approved")
      const changed = yield* coordinator.call("PUT", path, { content: "Something else." })
      expect(changed.body).toMatchObject({ trustState: "pending", approvedBy: null })
      yield* call("POST", `${path}/approve`)
      // the same once more changes nothing that somebody vouched for
      const same = yield* coordinator.call("PUT", path, { content: "Something else.", rationale: null })
      expect(same.body).toMatchObject({ trustState: "approved", approvedBy: "ada" })
      expect((yield* coordinator.call("PUT", path, { rationale: "Because." })).body.trustState).toBe("pending")
      expect((yield* coordinator.call("POST", "/decisions", { type: "scope", content: "c" })).body).toMatchObject({
        trustState: "pending",
        agentName: coordinatorAgent,
      })
    }),
  )

  it.effect("merges an entry for one of many who try at once, and makes one decision", () =>
    Effect.gen(function* () {
      const { call } = yield* world
      const { id } = (yield* call("POST", "/decisions/inbox", { body: proposal })).body
      const verbs = ["merge", "promote", "reject"]
      const answers = yield* Effect.all(
        Array.from({ length: 15 }, (_, i) => call("POST", `/decisions/inbox/${id}/${verbs[i % 3]}`)),
        { concurrency: "unbounded" },
      )
      expect(answers.filter(({ status }) => status < 300)).toHaveLength(1)
      const [winner] = answers.filter(({ status }) => status < 300)
      const decisions = (yield* call("GET", "/decisions?status=all")).body
      expect(decisions).toHaveLength(winner?.body.status === "merged" ? 1 : 0)
    }),
  )

  it.effect("gives every one of many agents that submit a slug at once an entry of its own", () =>
    Effect.gen(function* () {
      const { call } = yield* world
      const submissions = Array.from({ length: 12 }, (_, i) => ({ ...proposal, agent_name: `Agent ${i % 6}` }))
      const answers = yield* Effect.forEach(submissions, (body) => call("POST", "/decisions/inbox", { body }), {
        concurrency: "unbounded",
      })
      expect(answers.filter(({ status }) => status === 201)).toHaveLength(6)
      expect(answers.filter(({ status }) => status === 200)).toHaveLength(6)
      expect(new Set(answers.map(({ body }) => body.slug)).size).toBe(6)
    }),
  )
})
