/** How orchestrations begin: unattended, twice with one key, and where there is no model. */
import { expect, layer } from "@effect/vitest"
import { Effect } from "effect"
import { orchestrate, orchestration, play, type Script, write } from "#test/scenario/orchestration-team.ts"
import { TestDatabase } from "#test/support/database.ts"
import { headersOf, makeOrchestra } from "#test/support/orchestra.ts"

const one: Script = { parts: [{ title: "Write one", does: () => [write("one.txt", "one\n")] }] }

layer(TestDatabase.layer, { excludeTestServices: true, timeout: "60 seconds" })("an orchestration", (it) => {
  it.effect("confirms its outcome by itself on autopilot, in the name of who started it", () =>
    Effect.gen(function* () {
      const { nth, on } = yield* orchestration(one, { start: { start_mode: "define_outcome", autopilot: true } })
      const { payload } = yield* nth("coordinator.outcome_spec.confirmed")
      expect(payload).toMatchObject({ confirmedBy: "ada" })
      yield* nth("review.requested")
      // a person reviews, autopilot or not
      expect((yield* on("GET", "")).body).toMatchObject({ status: "awaiting_review" })
    }),
  )

  it.effect("goes on when autopilot is switched on while it waits for the confirmation", () =>
    Effect.gen(function* () {
      const { nth, on } = yield* orchestration(one, { start: { start_mode: "defineOutcome" } })
      yield* nth("coordinator.outcome_spec")
      expect((yield* on("POST", "/autopilot", { enabled: true })).status).toBe(200)
      yield* nth("coordinator.outcome_spec.confirmed")
    }),
  )

  it.effect("is started once for one key, and another request with that key is refused", () =>
    Effect.gen(function* () {
      const world = yield* makeOrchestra(play(one))
      const start = (goal: string, key: string) =>
        Effect.promise(async () => {
          const response = await fetch(`${world.url}/api/projects/${world.projectId}/orchestrations`, {
            method: "POST",
            headers: { ...headersOf("ada"), "idempotency-key": key },
            body: JSON.stringify({ goal }),
          })
          return {
            status: response.status,
            location: response.headers.get("location"),
            body: (await response.json()) as { readonly runId: string },
          }
        })
      const both = yield* Effect.all([start("Write it", "k-1"), start("Write it", "k-1")], { concurrency: 2 })
      const [first, second] = both
      expect(first).toMatchObject({ status: 201, location: `/api/runs/${first.body.runId}` })
      expect(second).toEqual(first)
      expect(yield* start("Write something else", "k-1")).toMatchObject({
        status: 409,
        body: { error: "idempotency_key_conflict" },
      })
      expect((yield* start("Write it", "k-2")).body.runId).not.toBe(first.body.runId)
      expect((yield* start("Write it", "two words")).status).toBe(400)
      yield* orchestrate(world, first.body.runId).nth("review.requested")
    }),
  )

  it.effect("fails with the reason where no model provider is configured, and can be tried again", () =>
    Effect.gen(function* () {
      const { runId, until, on, events } = yield* orchestration(one, {
        settings: { Providers: { Hosted: {} } },
      })
      const types = yield* until(runId, "none")
      expect(types.at(-1)).toBe("run.failed")
      const [failed] = yield* events("run.failed")
      expect(failed?.payload.message).toMatch(/provider/i)
      expect((yield* on("GET", "")).body).toMatchObject({ status: "failed" })
      expect((yield* on("GET", "/work-plan")).status).toBe(404)
      expect((yield* on("POST", "/retry")).status).toBe(201)
    }),
  )
})
