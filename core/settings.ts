/**
 * All configuration of the service: one schema, whose names are those of the interface
 * (`Sandbox:AgentExecutionMode` is `settings.Sandbox.AgentExecutionMode`), with every default and bound.
 *
 * It says what is valid; where values come from is the business of `runtime/settings`.
 */
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Context, Schema } from "effect"
import { Auth } from "#core/settings/auth.ts"
import { nested } from "#core/settings/field.ts"
import { Generation, Providers, SkillMarketplaces } from "#core/settings/providers.ts"
import { Coordinator, MemoryContext, Rai, RunBounds, Runs } from "#core/settings/runs.ts"
import { AgentHost, Sandbox } from "#core/settings/sandbox.ts"
import { Data, Database, Logging, Plugins, Server, Telemetry } from "#core/settings/server.ts"

export const SettingsSchema = Schema.Struct({
  Server: nested(Server),
  Data: nested(Data),
  Database: nested(Database),
  Auth: nested(Auth),
  Logging: nested(Logging),
  Telemetry: nested(Telemetry),
  Plugins: nested(Plugins),
  Runs: nested(Runs),
  RunBounds: nested(RunBounds),
  Coordinator: nested(Coordinator),
  Sandbox: nested(Sandbox),
  AgentHost: nested(AgentHost),
  Providers: nested(Providers),
  Generation: nested(Generation),
  MemoryContext: nested(MemoryContext),
  Rai: nested(Rai),
  SkillMarketplaces: nested(SkillMarketplaces),
})

/** The decoded configuration. Secrets are `Redacted`; what may be left out is absent. */
export type SettingsValues = typeof SettingsSchema.Type

/** What may be written in a settings file: the same names, everything optional. */
export type SettingsInput = typeof SettingsSchema.Encoded

export class Settings extends Context.Service<Settings, SettingsValues>()("core/Settings") {}

/** Valid settings for a test: the defaults with `overrides` over them. Throws where an override is not valid. */
export const settingsForTests = (overrides: SettingsInput = {}): SettingsValues =>
  Schema.decodeSync(SettingsSchema)({
    ...overrides,
    Data: { Directory: join(tmpdir(), "svc-test"), ...overrides.Data },
  })
