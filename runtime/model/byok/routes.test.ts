/** The administration of providers, on a real database through the real gateway. */
import { mkdtempSync, rmSync, statSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, expect, layer } from "@effect/vitest"
import { Context, Effect, Layer, Redacted } from "effect"
import { Settings, type SettingsInput, settingsForTests } from "#core/settings.ts"
import { Sql } from "#core/sql.ts"
import { ByokProviders } from "#runtime/model/byok/providers.ts"
import { byokRoutes } from "#runtime/model/byok/routes.ts"
import { accessDifferences } from "#test/contract/access.ts"
import { callRoute } from "#test/support/call-route.ts"
import { coreServices } from "#test/support/core-services.ts"

const directory = mkdtempSync(join(tmpdir(), "svc-byok-"))
afterAll(() => rmSync(directory, { recursive: true, force: true }))
const settings: SettingsInput = { Data: { Directory: directory } }
const path = "/api/admin/byok-providers"
const secretKey = "key-of-the-customer-0123456789"
const secretHeader = "header-of-the-customer-0123456789"

const openAi = (name: string, more: object = {}) => ({
  name,
  type: "openai",
  base_url: "https://models.example.com/v1",
  model: "gpt-x",
  api_key: secretKey,
  headers: { "X-Team": secretHeader },
  ...more,
})

/** With other keys on the same database. */
const withSettings = (own: SettingsInput) =>
  Effect.map(
    Effect.flatMap(Sql, (sql) =>
      Layer.build(
        Layer.fresh(ByokProviders.layer).pipe(
          Layer.provide(Layer.succeed(Sql, sql)),
          Layer.provide(Layer.succeed(Settings, settingsForTests({ ...settings, ...own }))),
        ),
      ),
    ),
    (context) => Context.get(context, ByokProviders),
  )

layer(ByokProviders.layer.pipe(Layer.provideMerge(coreServices(settings))), {
  excludeTestServices: true,
  timeout: "30 seconds",
})("providers of administrators", (it) => {
  const routes = Effect.flatMap(byokRoutes, callRoute)
  const add = Effect.fnUntraced(function* (name: string, more: object = {}) {
    const call = yield* routes
    const { status, body } = yield* call("POST", path, { as: "admin", body: openAi(name, more) })
    expect(status).toBe(201)
    return body.id as string
  })

  it.effect("are for platform administrators, as the interface says", () =>
    Effect.gen(function* () {
      expect(accessDifferences(yield* byokRoutes)).toEqual([])
      const call = yield* routes
      expect((yield* call("GET", path, { as: "ada" })).status).toBe(403)
      expect((yield* call("GET", path, { as: null })).status).toBe(401)
    }),
  )

  it.effect("are shown without their secrets, which the database does not hold in the clear", () =>
    Effect.gen(function* () {
      const call = yield* routes
      const made = yield* call("POST", path, { as: "admin", body: openAi("shown") })
      expect(made).toMatchObject({
        status: 201,
        body: {
          name: "shown",
          type: "openai",
          base_url: "https://models.example.com/v1",
          model: "gpt-x",
          wire_api: "completions",
          azure_api_version: null,
          headers: { "X-Team": "***" },
          has_api_key: true,
          is_active: false,
        },
      })
      const list = yield* call("GET", path, { as: "admin" })
      expect(list.body.providers).toContainEqual(made.body)
      const sql = yield* Sql
      const stored = JSON.stringify(yield* sql`select * from model_providers`)
      for (const shown of [JSON.stringify(made.body), JSON.stringify(list.body), stored]) {
        expect(shown).not.toContain(secretKey)
        expect(shown).not.toContain(secretHeader)
      }
      expect(statSync(join(directory, "sealing-key")).mode & 0o777).toBe(0o600)
    }),
  )

  it.effect("are opened with their secrets, to be asked", () =>
    Effect.gen(function* () {
      const id = yield* add("opened")
      const providers = yield* ByokProviders
      const opened = yield* providers.open(id)
      expect(opened?.apiKey && Redacted.value(opened.apiKey)).toBe(secretKey)
      expect(opened?.headers["X-Team"] && Redacted.value(opened.headers["X-Team"])).toBe(secretHeader)
    }),
  )

  it.effect("keep what is not sent, change what is, and lose what is null", () =>
    Effect.gen(function* () {
      const id = yield* add("changed")
      const call = yield* routes
      const providers = yield* ByokProviders
      const put = (body: object) => call("PUT", `${path}/${id}`, { as: "admin", body })
      const { api_key: _, headers: __, ...open } = openAi("changed", { model: "gpt-y" })
      expect(yield* put(open)).toMatchObject({
        status: 200,
        body: { model: "gpt-y", has_api_key: true, headers: { "X-Team": "***" } },
      })
      expect((yield* put({ ...open, headers: { "X-Team": "***", "X-New": "new" } })).body.headers).toEqual({
        "X-Team": "***",
        "X-New": "***",
      })
      const kept = yield* providers.open(id)
      expect(kept?.headers["X-Team"] && Redacted.value(kept.headers["X-Team"])).toBe(secretHeader)
      expect((yield* put({ ...open, headers: {}, api_key: null })).body).toMatchObject({
        headers: {},
        has_api_key: false,
      })
      const emptied = yield* providers.open(id)
      expect([emptied?.apiKey, emptied?.headers]).toEqual([null, {}])
    }),
  )

  it.effect("give their secrets to no other address than the one they were sent for", () =>
    Effect.gen(function* () {
      const id = yield* add("moved")
      const call = yield* routes
      const put = (more: object) =>
        call("PUT", `${path}/${id}`, {
          as: "admin",
          body: { ...openAi("moved"), base_url: "https://other.example.com", ...more },
        })
      expect((yield* put({ api_key: "***" })).status).toBe(409)
      expect((yield* put({ headers: { "X-Team": "***" } })).status).toBe(409)
      expect((yield* put({ type: "anthropic" })).status).toBe(200)
    }),
  )

  it.effect("have at most one among them that is active", () =>
    Effect.gen(function* () {
      const call = yield* routes
      const one = yield* add("one")
      const two = yield* add("two")
      const providers = yield* ByokProviders
      const activate = (id: string) => call("POST", `${path}/${id}/activate`, { as: "admin" })
      const answers = yield* Effect.forEach([one, two, one, two], activate, { concurrency: "unbounded" })
      expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200])
      expect((yield* call("POST", `${path}/${two}/activate`, { as: "admin" })).body).toMatchObject({ is_active: true })
      const active = (yield* call("GET", path, { as: "admin" })).body
      expect(active.active_provider_id).toBe(two)
      expect(active.providers.filter((provider: { is_active: boolean }) => provider.is_active)).toHaveLength(1)
      expect((yield* providers.open(null))?.id).toBe(two)
      expect((yield* call("POST", `${path}/deactivate`, { as: "admin" })).status).toBe(204)
      expect((yield* call("POST", `${path}/deactivate`, { as: "admin" })).status).toBe(204)
      expect(yield* providers.open(null)).toBeUndefined()
    }),
  )

  it.effect("are deleted once", () =>
    Effect.gen(function* () {
      const id = yield* add("deleted")
      const call = yield* routes
      expect((yield* call("DELETE", `${path}/${id}`, { as: "admin" })).status).toBe(204)
      for (const [method, end] of [
        ["DELETE", ""],
        ["POST", "/activate"],
      ] as const) {
        expect((yield* call(method, `${path}/${id}${end}`, { as: "admin" })).status).toBe(404)
        expect((yield* call(method, `${path}/nothing${end}`, { as: "admin" })).status).toBe(404)
      }
      expect((yield* call("PUT", `${path}/${id}`, { as: "admin", body: openAi("deleted") })).status).toBe(404)
    }),
  )

  it.effect("have names of their own", () =>
    Effect.gen(function* () {
      yield* add("taken")
      const other = yield* add("free")
      const call = yield* routes
      expect((yield* call("POST", path, { as: "admin", body: openAi("taken") })).status).toBe(409)
      expect((yield* call("PUT", `${path}/${other}`, { as: "admin", body: openAi("taken") })).status).toBe(409)
    }),
  )

  it.effect.each([
    ["name", { name: "" }],
    ["name", { name: "a\nb" }],
    ["type", { type: "other" }],
    ["base_url", { base_url: "ftp://x" }],
    ["base_url", { base_url: "https://user:password@example.com/v1" }],
    ["base_url", { base_url: "https://example.com/v1?key=x" }],
    ["base_url", { type: "azure", base_url: null }],
    ["model", { model: "no model" }],
    ["headers", { headers: { "X-A": "a\r\nX-B: b" } }],
    ["headers", { headers: { Host: "internal" } }],
    ["headers", { headers: { "no header": "a" } }],
    ["api_key", { api_key: "line\nline" }],
    ["azure_api_version", { azure_api_version: "../.." }],
  ] as const)("are refused with a bad %s: %o", ([field, more]) =>
    Effect.gen(function* () {
      const call = yield* routes
      const { status, body } = yield* call("POST", path, { as: "admin", body: openAi("bad", more) })
      expect(status).toBe(400)
      expect(JSON.stringify(body)).toContain(field)
      expect(JSON.stringify(body)).not.toContain(secretKey)
    }),
  )

  it.effect("are sealed anew when the key is exchanged, and then open without the old one", () =>
    Effect.gen(function* () {
      const keyOf = (letter: string) => Buffer.alloc(32, letter).toString("base64")
      const [first, second, third] = [keyOf("A"), keyOf("B"), keyOf("C")]
      const before = yield* withSettings({ Providers: { SealingKey: first } })
      const { id } = yield* before.create({
        name: "rotated",
        type: "openai",
        baseUrl: null,
        model: null,
        wireApi: "completions",
        azureApiVersion: null,
        apiKey: secretKey,
        headers: {},
      })
      const after = yield* withSettings({ Providers: { SealingKey: second, OldSealingKeys: [first] } })
      yield* after.list
      const later = yield* withSettings({ Providers: { SealingKey: second } })
      const opened = yield* later.open(id)
      expect(opened?.apiKey && Redacted.value(opened.apiKey)).toBe(secretKey)
      const lost = yield* withSettings({ Providers: { SealingKey: third } })
      expect(yield* Effect.flip(lost.open(id))).toMatchObject({ _tag: "CannotUnseal" })
      // still listed, and usable again with a new key
      expect((yield* lost.list).map((provider) => provider.id)).toContain(id)
    }),
  )
})
