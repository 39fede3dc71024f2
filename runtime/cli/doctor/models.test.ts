import { expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { type SettingsInput, settingsForTests } from "#core/settings.ts"
import { models } from "#runtime/cli/doctor/models.ts"
import { jsonAnswer, type ModelCallReceived, startModelServer } from "#test/fakes/model-server.ts"

const look = (Providers: NonNullable<SettingsInput["Providers"]>) => models(settingsForTests({ Providers }))

const listing = ({ headers }: ModelCallReceived) =>
  [headers.authorization, headers["x-api-key"], headers["api-key"]].some((sent) => String(sent).includes("right-key"))
    ? jsonAnswer(200, { object: "list", data: [{ id: "there" }] })
    : jsonAnswer(401, { error: { message: "no" } })

it.live("says what is the matter with the provider, or that nothing is", () =>
  Effect.gen(function* () {
    const { origin, requests } = yield* startModelServer(listing)
    const away = (yield* Effect.scoped(startModelServer(listing))).origin
    const hosted = { BaseUrl: `${origin}/v1`, ApiKey: "right-key", Model: "there" }
    const cases: ReadonlyArray<readonly [NonNullable<SettingsInput["Providers"]>, string, RegExp]> = [
      [{}, "warning", /no provider is configured/],
      [{ Default: "byok" }, "warning", /no provider is configured/],
      [{ Hosted: hosted }, "ok", /^openai at 127\.0\.0\.1:\d+ answers; there$/],
      [{ Hosted: { ...hosted, ApiKey: "wrong-key" } }, "warning", /refuses the key \(401\)/],
      [{ Hosted: { ...hosted, Model: "gone" } }, "warning", /does not list gone/],
      [{ Hosted: { BaseUrl: hosted.BaseUrl, ApiKey: "right-key" } }, "warning", /no model is named/],
      [{ Hosted: { ...hosted, BaseUrl: `${away}/v1` } }, "warning", /does not answer/],
      [{ Default: "byok", Byok: { ...hosted, Type: "anthropic" } }, "ok", /^anthropic/],
      [{ Default: "byok", Byok: { ...hosted, Type: "azure" } }, "ok", /^azure/],
      [{ Default: "byok", Byok: { Type: "azure", ApiKey: "right-key" } }, "warning", /has no address/],
      [{ Default: "scripted" }, "warning", /Providers:Scripted:Path is not set/],
      [{ Default: "tape" }, "warning", /no provider is configured/],
      [{ Default: "tape", Tape: { Mode: "replay", Path: "/nowhere/tape" } }, "warning", /cannot be read/],
    ]
    for (const [providers, status, detail] of cases) {
      const finding = yield* look(providers)
      expect(finding).toMatchObject({ name: "models", status, detail: expect.stringMatching(detail) })
      expect(JSON.stringify(finding)).not.toContain("-key")
    }
    expect(new Set(requests.map(({ path }) => path))).toEqual(new Set(["/v1/models", "/v1/openai/v1/models"]))
  }),
)
