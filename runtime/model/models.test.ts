/** From a source to a provider and its answer, over a real database and real HTTP. */
import { mkdtempSync, rmSync } from "node:fs"
import { readFile, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, expect, layer } from "@effect/vitest"
import { Context, Effect, Layer, Stream } from "effect"
import { newId } from "#core/ids.ts"
import { Models } from "#core/ports/models.ts"
import { Settings, type SettingsInput, settingsForTests } from "#core/settings.ts"
import { Sql } from "#core/sql.ts"
import type { ModelRequest } from "#core/wire/model.ts"
import { ByokProviders } from "#runtime/model/byok/providers.ts"
import { modelsLayer } from "#runtime/model/models.ts"
import { startAnthropicServer } from "#test/fakes/anthropic-server.ts"
import { startOpenAiServer } from "#test/fakes/openai-server.ts"
import { testDatabase } from "#test/support/database.ts"

const directory = mkdtempSync(join(tmpdir(), "svc-models-"))
afterAll(() => rmSync(directory, { recursive: true, force: true }))

type ProviderSettings = NonNullable<SettingsInput["Providers"]>

const modelsWith = Effect.fnUntraced(function* (Providers: ProviderSettings) {
  const settings = settingsForTests({ Data: { Directory: directory }, Providers: { MaxAttempts: 1, ...Providers } })
  const sql = yield* Sql
  const context = yield* Layer.build(
    Layer.fresh(modelsLayer.pipe(Layer.provideMerge(ByokProviders.layer))).pipe(
      Layer.provide(Layer.merge(Layer.succeed(Sql, sql), Layer.succeed(Settings, settings))),
    ),
  )
  return { models: Context.get(context, Models), byok: Context.get(context, ByokProviders) }
})

const requestOf = (source: string, modelId: string | null = null, runId = newId()): ModelRequest => ({
  source,
  modelId,
  system: "",
  messages: [{ role: "user", text: `Do it in run ${runId}.` }],
  tools: [],
  labels: { runId, projectId: null, agentName: "Writer", purpose: "turn", step: 0 },
})

const said = (models: Context.Service.Shape<typeof Models>, request: ModelRequest) =>
  Effect.map(Stream.runCollect(models.stream(request)), (parts) =>
    parts.map((part) => (part.kind === "text" ? part.delta : "")).join(""),
  )

layer(testDatabase, { excludeTestServices: true, timeout: "30 seconds" })("models", (it) => {
  it.effect("come from the hosted provider of the settings, which may need no key", () =>
    Effect.gen(function* () {
      const { url, requests } = yield* startOpenAiServer(({ body }) => ({ text: `I am ${body.model}.` }))
      const { models } = yield* modelsWith({ Hosted: { BaseUrl: url, Model: "house" } })
      expect(yield* said(models, requestOf("hosted"))).toBe("I am house.")
      expect(yield* said(models, requestOf("hosted", "other"))).toBe("I am other.")
      expect(yield* models.resolve("hosted", null)).toEqual({
        source: "hosted",
        modelId: "house",
        provenance: { provider: "openai", kind: "platform_hosted", model: "house" },
      })
      expect(requests.map(({ headers }) => headers.authorization)).toEqual([undefined, undefined])
    }),
  )

  it.effect("come from the active BYOK provider, and from that of the settings where none is active", () =>
    Effect.gen(function* () {
      const ofSettings = yield* startOpenAiServer(() => ({ text: "settings" }))
      const stored = yield* startAnthropicServer(() => ({ text: "stored" }))
      const { models, byok } = yield* modelsWith({
        Byok: { BaseUrl: ofSettings.url, ApiKey: "key-of-the-settings", Model: "a" },
      })
      const { id } = yield* byok.create({
        name: "stored",
        type: "anthropic",
        baseUrl: stored.url,
        model: "b",
        wireApi: "completions",
        azureApiVersion: null,
        apiKey: "key-of-the-database",
        headers: { "X-Team": "red" },
      })
      expect(yield* said(models, requestOf("byok"))).toBe("settings")
      yield* byok.activate(id)
      expect(yield* said(models, requestOf("byok"))).toBe("stored")
      expect(stored.requests[0]?.headers).toMatchObject({ "x-api-key": "key-of-the-database", "x-team": "red" })
      expect(yield* models.resolve("byok", null)).toMatchObject({
        modelId: "b",
        provenance: { provider: "anthropic", kind: "byok" },
      })
      yield* byok.deactivate
      expect(yield* said(models, requestOf("byok"))).toBe("settings")
      expect(yield* said(models, requestOf(`byok:${id}`))).toBe("stored")
      yield* byok.remove(id)
      expect(yield* Effect.flip(said(models, requestOf(`byok:${id}`)))).toMatchObject({ kind: "Configuration" })
    }),
  )

  it.effect("that are not there are named, by resolve as by stream", () =>
    Effect.gen(function* () {
      const { models } = yield* modelsWith({ Byok: { BaseUrl: "http://127.0.0.1:1/v1" } })
      for (const [source, message] of [
        ["hosted", "There is no hosted provider"],
        ["byok", "No model is named"],
        [`byok:${newId()}`, "does not exist any more"],
        ["byok:nothing", "does not exist any more"],
        ["scripted", "There is no script"],
        ["tape", "No tape is replayed"],
        ["other", 'no source of models with the name "other"'],
      ] as const) {
        const byResolve = yield* Effect.flip(models.resolve(source, null))
        const byStream = yield* Effect.flip(said(models, requestOf(source)))
        expect(byResolve).toMatchObject({ kind: "Configuration", retryable: false })
        expect(byResolve.message).toContain(message)
        expect(byStream.message).toBe(byResolve.message)
      }
    }),
  )

  it.effect("may be a script, recorded on a tape, and the tape", () =>
    Effect.gen(function* () {
      const script = join(directory, "script.yml")
      const tape = join(directory, "tape.jsonl")
      yield* Effect.promise(() => writeFile(script, 'script: 1\nroles: [{ steps: [{ say: "It is {{task}}" }] }]\n'))
      const recording = yield* modelsWith({ Scripted: { Path: script }, Tape: { Mode: "record", Path: tape } })
      const recorded = newId()
      expect(yield* said(recording.models, requestOf("scripted", null, recorded))).toBe(
        `It is Do it in run ${recorded}.`,
      )
      expect(yield* recording.models.resolve("scripted", null)).toEqual({
        source: "scripted",
        modelId: "scripted",
        provenance: { provider: "scripted", kind: "scripted", model: "scripted" },
      })
      expect(yield* Effect.promise(() => readFile(tape, "utf8"))).toContain("Do it in run ⟦run⟧.")
      const { models } = yield* modelsWith({ Tape: { Mode: "replay", Path: tape } })
      const live = newId()
      expect(yield* said(models, requestOf("tape", null, live))).toBe(`It is Do it in run ${live}.`)
      expect((yield* models.resolve("tape", null)).provenance.kind).toBe("tape")
      expect(models.limits("tape", null)).toEqual(recording.models.limits("scripted", null))
    }),
  )

  it.effect("have the limits of the table, or those of the settings", () =>
    Effect.gen(function* () {
      const { models } = yield* modelsWith({
        Hosted: { Model: "gpt-4o" },
        Byok: { Model: "gpt-4o", ContextTokens: 8_192 },
      })
      expect(models.limits("hosted", null).contextTokens).toBe(128_000)
      expect(models.limits("hosted", "claude-sonnet-4-5").contextTokens).toBe(200_000)
      expect(models.limits("byok", null).contextTokens).toBe(8_192)
      expect(models.limits("scripted", null).contextTokens).toBeGreaterThan(1_000_000)
    }),
  )
})
