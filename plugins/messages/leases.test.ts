/**
 * Leases under random claims, crashes of whoever holds a claim, late deliveries and a clock that jumps: every message
 * is delivered at least once and acknowledged once, and no fence ever goes back.
 */
import { expect, layer } from "@effect/vitest"
import { Effect } from "effect"
import fc from "fast-check"
import { newId } from "#core/ids.ts"
import { type Sql, Sql as SqlService } from "#core/sql.ts"
import { messages } from "#plugins/messages/plugin.ts"
import { leaseMillis, type Message, makeMessageStore } from "#plugins/messages/store.ts"
import { coreServices } from "#test/support/core-services.ts"
import { folders, memoryWorld } from "#test/support/memory-world.ts"

type Step =
  | { readonly step: "claim"; readonly owner: string }
  /** By whoever holds the nth claim that was ever made: it may be long over. */
  | { readonly step: "deliver"; readonly claim: number }
  | { readonly step: "acknowledge"; readonly message: number }
  | { readonly step: "jump"; readonly millis: number }

const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({ step: fc.constant("claim" as const), owner: fc.constantFrom("a", "a", "b") }),
  fc.record({ step: fc.constant("deliver" as const), claim: fc.nat(5) }),
  fc.record({ step: fc.constant("acknowledge" as const), message: fc.nat(2) }),
  fc.record({
    step: fc.constant("jump" as const),
    millis: fc.oneof(fc.constant(leaseMillis + 1), fc.integer({ min: -2 * leaseMillis, max: 2 * leaseMillis })),
  }),
)

/** Somebody crashes, comes back under the same name, and what it did before the crash arrives late. */
const cameBack: ReadonlyArray<Step> = [
  { step: "claim", owner: "a" },
  { step: "jump", millis: leaseMillis + 1 },
  { step: "claim", owner: "a" },
  { step: "deliver", claim: 0 },
  { step: "deliver", claim: 1 },
]

const runs = 60
const life = 1_000 * leaseMillis

layer(coreServices({}, folders), { excludeTestServices: true, timeout: "60 seconds" })(
  "the lease of a message",
  (it) => {
    it.effect("delivers at least once, acknowledges once, and never takes a fence back", () =>
      Effect.gen(function* () {
        const { projectId, newRun } = yield* memoryWorld([messages])
        const store = makeMessageStore(yield* SqlService)
        const context = yield* Effect.context<Sql>()
        const { runId: sourceRunId } = yield* newRun("a")

        const history = (steps: ReadonlyArray<Step>) =>
          Effect.gen(function* () {
            const { runId: targetRunId } = yield* newRun("b")
            let clock = Date.now()
            const now = () => new Date(clock).toISOString()
            const ids = [newId(), newId(), newId()]
            for (const id of ids) {
              const sent = { id, threadId: id, projectId, sourceRunId, targetRunId, idempotencyKey: id }
              const who = { sender: "a", senderIdentity: "run:a", recipient: "b", content: "c" }
              const none = { replyToId: null, referenceKind: null, referenceId: null, askedExpiry: null }
              const expiresAt = new Date(clock + life).toISOString()
              yield* store.insert({ ...sent, ...who, ...none, expiresAt }, now())
            }
            const claims: Array<Message> = []
            const fences = new Map<string, number>()
            const delivered = new Map<string, number>()
            const acknowledged = new Map<string, number>()
            const once = (counts: Map<string, number>, id: string) => counts.set(id, (counts.get(id) ?? 0) + 1)

            const claim = Effect.fnUntraced(function* (owner: string) {
              const claimed = yield* store.claim(projectId, targetRunId, owner, now())
              if (claimed === undefined) return undefined
              expect(claimed.fence).toBeGreaterThan(fences.get(claimed.id) ?? 0)
              fences.set(claimed.id, claimed.fence)
              claims.push(claimed)
              return claimed
            })
            const deliver = Effect.fnUntraced(function* ({ id, claimOwner, fence }: Message) {
              const done = yield* store.deliver(id, { owner: claimOwner ?? "", fence }, now())
              if (done === undefined) return
              // only the latest claim can deliver
              expect(fence).toBe(fences.get(id))
              once(delivered, id)
            })
            const acknowledge = Effect.fnUntraced(function* (id: string) {
              if ((yield* store.acknowledge(id, now())) !== undefined) once(acknowledged, id)
            })

            for (const each of steps) {
              if (each.step === "jump") clock += each.millis
              else if (each.step === "claim") yield* claim(each.owner)
              else if (each.step === "acknowledge") yield* acknowledge(ids[each.message] ?? "")
              else {
                const held = claims[each.claim % Math.max(claims.length, 1)]
                if (held !== undefined) yield* deliver(held)
              }
            }
            // whoever held claims has crashed; somebody comes back for what is left
            clock += 100 * leaseMillis
            for (let left = yield* claim("z"); left !== undefined; left = yield* claim("z")) yield* deliver(left)
            for (const id of [...ids, ...ids]) yield* acknowledge(id)
            for (const id of ids) {
              expect({ delivered: delivered.get(id) ?? 0, acknowledged: acknowledged.get(id) ?? 0 }).toEqual({
                delivered: 1,
                acknowledged: 1,
              })
            }
          })

        yield* Effect.promise(() =>
          fc.assert(
            fc.asyncProperty(fc.array(step, { maxLength: 40, size: "max" }), (steps: ReadonlyArray<Step>) =>
              Effect.runPromiseWith(context)(history(steps)),
            ),
            { numRuns: runs, examples: [[cameBack]] },
          ),
        )
      }),
    )

    it.effect("gives each of many that claim at once another message", () =>
      Effect.gen(function* () {
        const { agent } = yield* memoryWorld([messages])
        const [a, b] = [yield* agent("A"), yield* agent("B")]
        const body = { recipient: "B", target_run_id: b.run.runId, content: "c" }
        for (let i = 0; i < 5; i++) yield* a.call("POST", "/agent-messages", { ...body, idempotency_key: `${i}` })
        const claims = yield* Effect.all(
          Array.from({ length: 12 }, (_, i) => b.call("POST", "/agent-messages/claim", { owner: `o${i}` })),
          { concurrency: "unbounded" },
        )
        const got = claims.filter(({ status }) => status === 200).map(({ body: message }) => message.id)
        expect(got).toHaveLength(5)
        expect(new Set(got).size).toBe(5)
        expect(claims.filter(({ status }) => status === 204)).toHaveLength(7)
      }),
    )
  },
)
