/** The provider of models that the person's own settings name, made sure of before anything is started. */
import { Effect } from "effect"
import type { SettingsValues } from "#core/settings.ts"
import { DemoFailed } from "#runtime/demo/failed.ts"
import { byokProvider, hostedProvider, nameOf } from "#runtime/model/provider/provider.ts"
import { reach } from "#runtime/model/provider/reach.ts"
import { loadSettings } from "#runtime/settings/load.ts"

/** The `Providers` of the settings. Fails where there is none that thinks, it does not answer, or refuses the key. */
export const providersOfSettings: Effect.Effect<SettingsValues["Providers"], DemoFailed> = Effect.gen(function* () {
  const { values } = yield* Effect.mapError(loadSettings(), ({ message }) => new DemoFailed({ message }))
  const { Default } = values.Providers
  const provider = Default === "hosted" ? hostedProvider(values) : Default === "byok" ? byokProvider(values) : null
  if (provider === null) {
    return yield* failed("No model is configured. Set Providers:Hosted in svc.yml (docs/models.md shows how)")
  }
  const reached = yield* reach(provider)
  switch (reached._tag) {
    case "Answers":
      return values.Providers
    case "NoAddress":
      return yield* failed(`${nameOf(provider)} has no address. Set its BaseUrl`)
    case "Away":
      return yield* failed(`${nameOf(provider)} does not answer. Check its BaseUrl, and the network between`)
    case "Refused":
      return yield* failed(`${nameOf(provider)} refuses the key (${reached.status}). Check its ApiKey`)
  }
})

const failed = (problem: string) =>
  new DemoFailed({ message: `${problem}, or leave --model out to see the scripted agents.` })
