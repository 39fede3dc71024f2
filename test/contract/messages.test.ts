/** Addressed messages over HTTP: who may send and receive, and every state of a message. */
import { mkdir, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { expect, layer } from "@effect/vitest"
import { Effect } from "effect"
import { messages } from "#plugins/messages/plugin.ts"
import { accessDifferences } from "#test/contract/access.ts"
import { coreServices } from "#test/support/core-services.ts"
import { folders, makeProject, memoryWorld } from "#test/support/memory-world.ts"

const path = "/agent-messages"

const world = Effect.gen(function* () {
  const made = yield* memoryWorld([messages])
  const [ann, bob] = [yield* made.agent("Ann"), yield* made.agent("Bob")]
  let key = 0
  const message = (more: object = {}) => ({
    recipient: "Bob",
    target_run_id: bob.run.runId,
    content: "Is the schema done?",
    idempotency_key: `k${key++}`,
    ...more,
  })
  const send = (more: object = {}) => ann.call("POST", path, message(more))
  const receive = Effect.gen(function* () {
    const { body } = yield* bob.call("POST", `${path}/claim`, { owner: "o" })
    const claim = { owner: "o", fence: body.fence }
    const { body: delivered } = yield* bob.call("POST", `${path}/${body.id}/deliver`, claim)
    return { delivered, claim }
  })
  return { ...made, ann, bob, message, send, receive }
})

layer(coreServices({}, folders), { excludeTestServices: true, timeout: "60 seconds" })("addressed messages", (it) => {
  it.effect("have every route, with the access of the interface", () =>
    Effect.gen(function* () {
      const { routes } = yield* world
      expect(routes).toHaveLength(7)
      expect(accessDifferences(routes)).toEqual([])
    }),
  )

  it.effect("go from accepted to acknowledged, and every step again is the same", () =>
    Effect.gen(function* () {
      const { call, ann, bob, send } = yield* world
      const sent = yield* send()
      expect(sent.status).toBe(201)
      expect(sent.body).toMatchObject({
        sender: "Ann",
        senderIdentity: `run:${ann.run.runId}`,
        sourceRunId: ann.run.runId,
        recipient: "Bob",
        targetRunId: bob.run.runId,
        threadId: sent.body.id,
        status: "accepted",
        fence: 0,
        claimOwner: null,
      })
      expect(Date.parse(sent.body.expiresAt) - Date.parse(sent.body.createdAt)).toBe(86_400_000)
      const one = `${path}/${sent.body.id}`
      const claimed = yield* bob.call("POST", `${path}/claim`, { owner: "o" })
      expect(claimed.body).toMatchObject({ id: sent.body.id, status: "claimed", claimOwner: "o", fence: 1 })
      expect((yield* bob.call("POST", `${path}/claim`, { owner: "o" })).status).toBe(204)
      expect((yield* bob.call("POST", `${one}/acknowledge`)).body.error).toBe("message_not_delivered")
      for (const wrong of [
        { owner: "p", fence: 1 },
        { owner: "o", fence: 0 },
        { owner: "o", fence: 2 },
      ]) {
        expect((yield* bob.call("POST", `${one}/deliver`, wrong)).body.error).toBe("claim_lost")
      }
      for (let again = 0; again < 2; again++) {
        const delivered = yield* bob.call("POST", `${one}/deliver`, { owner: "o", fence: 1 })
        expect(delivered).toMatchObject({ status: 200, body: { status: "delivered" } })
      }
      const first = yield* bob.call("POST", `${one}/acknowledge`)
      const second = yield* bob.call("POST", `${one}/acknowledge`)
      expect(first).toMatchObject({ status: 200, body: { status: "acknowledged" } })
      expect(second.body).toEqual(first.body)
      expect((yield* call("GET", one, { as: "vic" })).body).toEqual(first.body)
      expect((yield* call("GET", `${path}?run_id=${ann.run.runId}`, { as: "vic" })).body).toEqual([first.body])
      expect((yield* call("GET", `${path}?limit=0`)).status).toBe(400)
    }),
  )

  it.effect("are one message for one key of one sender", () =>
    Effect.gen(function* () {
      const { ann, bob, send, message } = yield* world
      const body = message()
      const all = yield* Effect.all(
        Array.from({ length: 6 }, () => ann.call("POST", path, body)),
        { concurrency: "unbounded" },
      )
      expect(new Set(all.map(({ body: sent }) => sent.id)).size).toBe(1)
      const other = yield* ann.call("POST", path, { ...body, content: "Something else" })
      expect(other).toMatchObject({ status: 409, body: { error: "idempotency_conflict" } })
      const same = { idempotency_key: body.idempotency_key, recipient: "Ann", target_run_id: ann.run.runId }
      expect((yield* bob.call("POST", path, message(same))).status).toBe(201)
      expect((yield* send()).body.id).not.toBe(all[0]?.body.id)
    }),
  )

  it.effect("are refused with the reason", () =>
    Effect.gen(function* () {
      const { ann, send, newRun, runs } = yield* world
      const error = (more: object) => Effect.map(send(more), ({ status, body }) => [status, body.error])
      const ended = yield* newRun("Bob")
      yield* runs.cancel(ended.runId, { reason: "cancelled", by: "ada" })
      const elsewhere = yield* makeProject
      const foreign = yield* runs.create({
        projectId: elsewhere.projectId,
        submittedBy: "ada",
        agentName: "Bob",
        task: "t",
      })
      const later = (millis: number) => new Date(Date.now() + millis).toISOString()
      expect(yield* error({ target_run_id: "not-an-id" })).toEqual([409, "target_not_running"])
      expect(yield* error({ target_run_id: ended.runId })).toEqual([409, "target_not_running"])
      expect(yield* error({ target_run_id: foreign.runId })).toEqual([409, "target_not_running"])
      expect(yield* error({ recipient: "Cleo" })).toEqual([409, "recipient_unavailable"])
      expect(yield* error({ content: "x".repeat(16_001) })).toEqual([409, "invalid_message"])
      expect(yield* error({ idempotency_key: "k".repeat(129) })).toEqual([409, "invalid_message"])
      expect(yield* error({ reference_kind: "finding" })).toEqual([409, "invalid_message"])
      expect(yield* error({ reference_kind: "nothing", reference_id: "1" })).toEqual([409, "invalid_message"])
      expect(yield* error({ expires_at: later(-1_000) })).toEqual([409, "invalid_expiry"])
      expect(yield* error({ expires_at: later(8 * 86_400_000) })).toEqual([409, "invalid_expiry"])
      expect(yield* error({ expires_at: "tomorrow" })).toEqual([409, "invalid_expiry"])
      expect(yield* error({ reply_to_id: ended.runId })).toEqual([409, "reply_unavailable"])
      expect(yield* error({ recipient: 1 })).toEqual([400, "invalid_request"])
      expect((yield* ann.call("POST", `${path}/claim`, { owner: "" })).body.error).toBe("invalid_claim_owner")
      expect((yield* send({ reference_kind: "finding", reference_id: "7", expires_at: later(1e6) })).status).toBe(201)
    }),
  )

  it.effect("are sent and received by agents alone, each by its own run", () =>
    Effect.gen(function* () {
      const { call, ann, send, message, agent } = yield* world
      const { body } = yield* send()
      for (const as of ["ada", "rob", "vic", "eve", "svc-internal"]) {
        expect((yield* call("POST", path, { as, body: message() })).status).toBe(403)
        expect((yield* call("POST", `${path}/claim`, { as, body: { owner: "o" } })).status).toBe(403)
        expect((yield* call("POST", `${path}/${body.id}/acknowledge`, { as })).status).toBe(403)
      }
      expect((yield* ann.call("POST", `${path}/claim`, { owner: "o" })).status).toBe(204)
      expect((yield* ann.call("POST", `${path}/${body.id}/acknowledge`)).body.error).toBe("recipient_run_required")
      const namesake = yield* agent("Bob")
      expect((yield* namesake.call("POST", `${path}/claim`, { owner: "o" })).status).toBe(204)
      const deliver = yield* namesake.call("POST", `${path}/${body.id}/deliver`, { owner: "o", fence: 1 })
      expect(deliver.body.error).toBe("recipient_run_required")
      expect((yield* call("GET", path, { as: "eve" })).status).toBe(403)
    }),
  )

  it.effect("are shown to people, and of agents to those alone who sent or claimed them", () =>
    Effect.gen(function* () {
      const { call, ann, bob, agent, send, receive } = yield* world
      const cleo = yield* agent("Cleo")
      const { body } = yield* send()
      const seenBy = Effect.fnUntraced(function* (who: typeof ann) {
        const one = yield* who.call("GET", `${path}/${body.id}`)
        const list = yield* who.call("GET", path)
        expect(list.status).toBe(200)
        expect(list.body.length).toBe(one.status === 200 ? 1 : 0)
        return one.status
      })
      expect([yield* seenBy(ann), yield* seenBy(bob), yield* seenBy(cleo)]).toEqual([200, 404, 404])
      yield* receive
      expect([yield* seenBy(ann), yield* seenBy(bob), yield* seenBy(cleo)]).toEqual([200, 200, 404])
      expect((yield* call("GET", path, { as: "vic" })).body).toHaveLength(1)
      expect((yield* call("GET", `${path}/${body.id}`, { as: "vic" })).status).toBe(200)
    }),
  )

  it.effect("are replied to by who received and acknowledged them, in their thread", () =>
    Effect.gen(function* () {
      const { ann, bob, send, receive, message } = yield* world
      const { body: question } = yield* send()
      const reply = (more: object = {}) =>
        bob.call(
          "POST",
          path,
          message({ recipient: "Ann", target_run_id: ann.run.runId, reply_to_id: question.id, ...more }),
        )
      expect((yield* reply()).body.error).toBe("reply_unavailable")
      yield* receive
      expect((yield* reply()).body.error).toBe("reply_unavailable")
      yield* bob.call("POST", `${path}/${question.id}/acknowledge`)
      expect((yield* reply()).body).toMatchObject({
        replyToId: question.id,
        threadId: question.threadId,
        sender: "Bob",
      })
      expect((yield* send({ reply_to_id: question.id })).body.error).toBe("reply_unavailable")
    }),
  )

  it.effect("expire, and cannot be received any more; their sender may send them again", () =>
    Effect.gen(function* () {
      const { call, sql, ann, bob, send, receive } = yield* world
      const { body: first } = yield* send()
      const { body: second } = yield* send()
      const { delivered } = yield* receive
      expect(delivered.id).toBe(first.id)
      const { body: claimed } = yield* bob.call("POST", `${path}/claim`, { owner: "o" })
      expect(claimed.id).toBe(second.id)
      yield* sql`update messages_sent set expires_at = now() - interval '1 second' where message_id = any(${[first.id, second.id]}::uuid[])`
      const late = yield* bob.call("POST", `${path}/${second.id}/deliver`, { owner: "o", fence: claimed.fence })
      expect(late).toMatchObject({ status: 409, body: { error: "message_unavailable" } })
      const list = (yield* call("GET", path)).body
      expect(list.map(({ id, status, failureReason }: Record<string, string>) => [id, status, failureReason])).toEqual([
        [second.id, "expired", "ttl_elapsed"],
        [first.id, "expired", "ttl_elapsed"],
      ])
      expect((yield* bob.call("POST", `${path}/${first.id}/acknowledge`)).body.error).toBe("message_unavailable")
      expect((yield* bob.call("POST", `${path}/claim`, { owner: "o" })).status).toBe(204)
      expect((yield* bob.call("POST", `${path}/${first.id}/retry`)).status).toBe(403)
      expect((yield* call("POST", `${path}/${first.id}/retry`, { as: "vic" })).status).toBe(403)
      const again = yield* ann.call("POST", `${path}/${first.id}/retry`)
      expect(again.body).toMatchObject({ status: "accepted", fence: 1, failureReason: null, deliveredAt: null })
      expect((yield* call("POST", `${path}/${first.id}/retry`)).body.error).toBe("message_unavailable")
      expect((yield* bob.call("POST", `${path}/claim`, { owner: "o" })).body).toMatchObject({ id: first.id, fence: 2 })
    }),
  )

  it.effect("are undeliverable where the recipient's run has ended, or the recipient left the team", () =>
    Effect.gen(function* () {
      const { call, runs, agent, newRun, send, folder } = yield* world
      const reason = (id: string) =>
        Effect.map(call("GET", `${path}/${id}`), ({ body }) => [body.status, body.failureReason])
      const cleo = yield* newRun("Cleo")
      const toCleo = (yield* send({ recipient: "Cleo", target_run_id: cleo.runId })).body
      yield* runs.cancel(cleo.runId, { reason: "cancelled", by: "ada" })
      expect(yield* reason(toCleo.id)).toEqual(["undeliverable", "target_cancelled"])
      expect((yield* call("POST", `${path}/${toCleo.id}/retry`)).body.error).toBe("target_not_running")

      const dan = yield* agent("Dan")
      const toDan = (yield* send({ recipient: "Dan", target_run_id: dan.run.runId })).body
      yield* dan.call("POST", `${path}/claim`, { owner: "o" })
      const team = "# Team\n\n| Name | Role | Charter | Status |\n|---|---|---|---|\n| Dan | Dev | x.md | retired |\n"
      yield* Effect.promise(async () => {
        await mkdir(join(folder, ".squad"))
        await writeFile(join(folder, ".squad", "team.md"), team)
      })
      expect(yield* reason(toDan.id)).toEqual(["undeliverable", "recipient_retired"])
      const again = yield* send({ recipient: "Dan", target_run_id: dan.run.runId })
      expect(again.body.error).toBe("recipient_unavailable")

      const toBob = (yield* send()).body
      yield* runs.remove(toBob.targetRunId, "ada")
      expect(yield* reason(toBob.id)).toEqual(["undeliverable", "target_completed"])
    }),
  )
})
