/** Every route of the memory that changes something, asked twice: the second time changes nothing, or says why not. */
import { stat } from "node:fs/promises"
import { join } from "node:path"
import { expect, layer } from "@effect/vitest"
import { Effect } from "effect"
import type { Method } from "#core/route.ts"
import { memory } from "#plugins/memory/plugin.ts"
import { coreServices } from "#test/support/core-services.ts"
import { folders, memoryWorld } from "#test/support/memory-world.ts"

const proposal = { agent_name: "Ripley", slug: "use-pg", type: "architectural", content: "We use PG." }
const note = { type: "learning", content: "c" }

const world = Effect.gen(function* () {
  const made = yield* memoryWorld([memory])
  const twice = Effect.fnUntraced(function* (method: Method, path: string, body?: object, as = "ada") {
    const first = yield* made.call(method, path, { as, body })
    const second = yield* made.call(method, path, { as, body })
    return { first, second, statuses: [first.status, second.status] }
  })
  return { ...made, twice }
})

layer(coreServices({}, folders), { excludeTestServices: true, timeout: "60 seconds" })(
  "asked twice, the memory",
  (it) => {
    it.effect("has one proposal, which is decided once", () =>
      Effect.gen(function* () {
        const { call, twice } = yield* world
        const submitted = yield* twice("POST", "/decisions/inbox", proposal, "rob")
        expect(submitted.statuses).toEqual([201, 200])
        const { id } = submitted.first.body
        const merged = yield* twice("POST", `/decisions/inbox/${id}/merge`)
        expect(merged.statuses).toEqual([201, 409])
        expect((yield* call("GET", "/decisions")).body).toHaveLength(1)

        const rejected = (yield* call("POST", "/decisions/inbox", { body: { ...proposal, slug: "other" } })).body
        const rejections = yield* twice("POST", `/decisions/inbox/${rejected.id}/reject`)
        expect(rejections.statuses).toEqual([200, 409])
        expect(rejections.first.body).toEqual({ id: rejected.id, status: "rejected" })
        // kept, for those who look back
        expect((yield* call("GET", "/decisions/inbox?status=rejected")).body).toMatchObject([{ id: rejected.id }])

        const promoted = (yield* call("POST", "/decisions/inbox", { body: { ...proposal, slug: "third" } })).body
        expect((yield* twice("POST", `/decisions/inbox/${promoted.id}/promote`)).statuses).toEqual([200, 409])
        expect((yield* twice("POST", "/decisions/inbox/999999/reject")).statuses).toEqual([409, 409])
      }),
    )

    it.effect("keeps who vouched first, and what is said already", () =>
      Effect.gen(function* () {
        const { call, twice, agent } = yield* world
        const made = yield* twice("POST", "/decisions", { type: "scope", title: "t", content: "c" })
        expect(made.statuses).toEqual([201, 201])
        expect(made.second.body.id).not.toBe(made.first.body.id)
        const coordinator = yield* agent("Coordinator")
        const { body: pending } = yield* coordinator.call("POST", "/decisions", { type: "scope", content: "c" })
        const approved = yield* twice("POST", `/decisions/${pending.id}/approve`)
        expect(approved.statuses).toEqual([200, 200])
        expect(approved.second.body).toEqual(approved.first.body)
        const superseded = yield* twice("PUT", `/decisions/${pending.id}`, { superseded_by_id: made.first.body.id })
        expect(superseded.statuses).toEqual([200, 200])
        expect(superseded.second.body).toMatchObject({ status: "superseded", superseded_by_id: made.first.body.id })

        const kept = yield* twice("POST", "/agents/Ripley/memory", note, "rob")
        expect(kept.statuses).toEqual([201, 201])
        const one = `/agents/Ripley/memory/${kept.first.body.id}`
        expect((yield* twice("PUT", one, { importance: "high" }, "rob")).statuses).toEqual([200, 200])
        const promoted = yield* twice("POST", `${one}/promote`)
        expect(promoted.statuses).toEqual([200, 200])
        expect(promoted.second.body).toEqual(promoted.first.body)
        yield* twice("PUT", one, { importance: "high" }, "rob")
        expect((yield* call("GET", one)).body).toMatchObject({ trustState: "approved", approvedBy: "ada" })
      }),
    )

    it.effect("ends a session once, and starts one for each time", () =>
      Effect.gen(function* () {
        const { call, twice } = yield* world
        expect((yield* twice("POST", "/sessions", { focus_area: "f", session_id: "s" })).statuses).toEqual([201, 409])
        const { body: open } = yield* call("GET", "/sessions/current")
        expect((yield* twice("PUT", "/sessions/current", { summary: "so far" })).statuses).toEqual([200, 200])
        const patched = yield* twice("PATCH", `/sessions/${open.id}`, { end: true })
        expect(patched.statuses).toEqual([200, 200])
        expect(patched.second.body.ended_at).toBe(patched.first.body.ended_at)
        expect((yield* twice("PUT", "/sessions/current", { end: true })).statuses).toEqual([404, 404])
        expect((yield* twice("POST", "/sessions", { focus_area: "f" })).statuses).toEqual([201, 201])
        expect((yield* twice("PUT", "/sessions/current", { end: true })).statuses).toEqual([200, 404])
        const sessions = (yield* call("GET", "/sessions")).body
        expect(sessions).toHaveLength(3)
        expect(sessions.every(({ ended_at }: { ended_at: string | null }) => ended_at !== null)).toBe(true)
      }),
    )

    it.effect("writes its files once, and reads them once", () =>
      Effect.gen(function* () {
        const { call, twice, folder } = yield* world
        yield* call("POST", "/decisions/inbox", { body: proposal })
        yield* call("POST", "/agents/Ripley/memory", { body: note })
        const exported = yield* twice("POST", "/memory/export", undefined, "rob")
        expect(exported.first).toEqual({ status: 200, body: { exported: true, decisions: 0, inbox: 1, memories: 1 } })
        expect(exported.second).toEqual(exported.first)
        const inode = Effect.promise(async () => (await stat(join(folder, ".squad/agents/ripley/history.md"))).ino)
        const before = yield* inode
        yield* call("POST", "/memory/export", { as: "rob" })
        expect(yield* inode).toBe(before)
        const imported = yield* twice("POST", "/memory/import", undefined, "rob")
        const nothing = { imported: 0, decisions: 0, memories: 0, sessions: 0, skipped: [] }
        expect([imported.first.body, imported.second.body]).toEqual([nothing, nothing])
      }),
    )
  },
)
