/** Trust goes from sources to what was made of them, and never grows on the way. */
import { expect, layer } from "@effect/vitest"
import { Effect } from "effect"
import fc from "fast-check"
import { Sql } from "#core/sql.ts"
import type { Author } from "#plugins/memory/author.ts"
import { makeEntryStore } from "#plugins/memory/entry-store.ts"
import { memory } from "#plugins/memory/plugin.ts"
import { type SourceKind, sourceKinds } from "#plugins/memory/values.ts"
import { coreServices } from "#test/support/core-services.ts"
import { folders, memoryWorld } from "#test/support/memory-world.ts"

type Step =
  /** From entries that there are, by their place. */
  | { readonly step: "record"; readonly kind: SourceKind; readonly sources: ReadonlyArray<number> }
  | { readonly step: "approve"; readonly entry: number }
  | { readonly step: "change"; readonly entry: number }

const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({
    step: fc.constant("record" as const),
    kind: fc.constantFrom(...sourceKinds),
    sources: fc.array(fc.nat(9), { maxLength: 3 }),
  }),
  fc.record({ step: fc.constant("approve" as const), entry: fc.nat(9) }),
  fc.record({ step: fc.constant("change" as const), entry: fc.nat(9) }),
)

interface Known {
  readonly id: number
  readonly kind: SourceKind
  readonly sources: ReadonlyArray<Known>
  approved: boolean
}

/** By the rule, said once more and simply. */
const trustOf = ({ kind, approved, sources }: Known): number =>
  Math.min(approved ? 2 : kind === "user" || kind === "agent" ? 1 : 0, ...sources.map(trustOf))

const note = { agentName: "A", sessionId: null, type: "learning", importance: 3, content: "c", tags: [] } as const

layer(coreServices({}, folders), { excludeTestServices: true, timeout: "60 seconds" })(
  "the trust of a memory",
  (it) => {
    it.effect("is the least of its own and of all that it was made from, whatever is approved and changed when", () =>
      Effect.gen(function* () {
        const { projectId } = yield* memoryWorld([memory])
        const store = makeEntryStore(yield* Sql)
        const services = yield* Effect.context<Sql>()
        const author = (sourceKind: SourceKind): Author => ({ identity: "x", sourceKind, run: null })

        const history = (steps: ReadonlyArray<Step>) =>
          Effect.gen(function* () {
            const known: Array<Known> = []
            let changes = 0
            const at = (place: number) => known[place % Math.max(known.length, 1)]
            for (const each of steps) {
              if (each.step === "record") {
                const sources = [...new Set(each.sources.flatMap((place) => at(place) ?? []))]
                const derivedFrom = sources.map(({ id }) => id)
                const { id } = yield* store.insert(projectId, { ...note, derivedFrom }, author(each.kind))
                known.push({ id, kind: each.kind, sources, approved: false })
              } else {
                const entry = at(each.entry)
                if (entry === undefined) continue
                if (each.step === "approve") yield* store.approve(projectId, entry.id, "ada")
                else yield* store.update(projectId, entry.id, { content: `${changes++}` }, author("user"))
                entry.approved = each.step === "approve"
              }
            }
            for (const entry of known) {
              const found = yield* store.find(projectId, entry.id)
              expect(found?.trust).toBe(trustOf(entry))
              if (entry.approved && trustOf(entry) < 2) expect(yield* store.heldBackBy(entry.id)).not.toEqual([])
            }
          })

        yield* Effect.promise(() =>
          fc.assert(
            fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 14 }), (steps) =>
              Effect.runPromiseWith(services)(history(steps)),
            ),
            { numRuns: 60 },
          ),
        )
      }),
    )

    it.effect("settles the same when sources are approved at once", () =>
      Effect.gen(function* () {
        const { projectId } = yield* memoryWorld([memory])
        const store = makeEntryStore(yield* Sql)
        const author: Author = { identity: "x", sourceKind: "agent", run: null }
        const sources = yield* Effect.forEach(Array.from({ length: 6 }), () =>
          store.insert(projectId, { ...note, derivedFrom: [] }, author),
        )
        const ids = sources.map(({ id }) => id)
        const made = yield* store.insert(projectId, { ...note, derivedFrom: ids }, author)
        yield* Effect.forEach([made.id, ...ids], (id) => store.approve(projectId, id, "ada"), {
          concurrency: "unbounded",
        })
        expect((yield* store.find(projectId, made.id))?.trust).toBe(2)
      }),
    )
  },
)
