/** Is there a provider of models, does it answer, and does it take the key? */
import { resolve } from "node:path"
import { Effect } from "effect"
import type { SettingsValues } from "#core/settings.ts"
import { type Check, type Finding, ok, warning } from "#runtime/cli/doctor/check.ts"
import { byokProvider, hostedProvider, nameOf, type Provider } from "#runtime/model/provider/provider.ts"
import { reach } from "#runtime/model/provider/reach.ts"
import { makeScripted } from "#runtime/model/scripted/scripted.ts"
import { readTape } from "#runtime/model/tape/player.ts"

/** Looks at the source that runs use which name none. */
export const models = (settings: SettingsValues): Check => {
  const { Default, Scripted, Tape } = settings.Providers
  switch (Default) {
    case "hosted": {
      const provider = hostedProvider(settings)
      return provider === null
        ? Effect.succeed(missing("Set Providers:Hosted:BaseUrl, ApiKey and Model, or another Providers:Default."))
        : ask(provider)
    }
    case "byok": {
      const provider = byokProvider(settings)
      return provider === null
        ? Effect.succeed(missing("Set Providers:Byok, or activate one with /api/admin/byok-providers."))
        : ask(provider)
    }
    case "scripted":
      return said(makeScripted(Scripted.Path).check, "a script answers instead of a model")
    case "tape":
      return Tape.Mode !== "replay" || Tape.Path === undefined
        ? Effect.succeed(missing("Set Providers:Tape:Mode to replay and Providers:Tape:Path to a tape."))
        : said(readTape(resolve(Tape.Path)), "a tape answers instead of a model")
  }
}

const name = "models"

const missing = (advice: string): Finding => warning(name, "no provider is configured, so no agent can work", advice)

const said = (check: Effect.Effect<unknown, { readonly message: string }>, detail: string): Check =>
  Effect.match(check, {
    onSuccess: () => ok(name, detail),
    onFailure: ({ message }) => warning(name, message, "Correct the file, or choose another Providers:Default."),
  })

const ask = (provider: Provider): Check =>
  Effect.map(reach(provider), (reached): Finding => {
    const who = nameOf(provider)
    switch (reached._tag) {
      case "NoAddress":
        return warning(name, `${who} has no address`, "Set its BaseUrl.")
      case "Away":
        return warning(name, `${who} does not answer`, "Check its BaseUrl, and the network between.")
      case "Refused":
        return warning(name, `${who} refuses the key (${reached.status})`, "Check its ApiKey.")
      case "Answers":
        break
    }
    if (provider.model === null) {
      return warning(name, `${who} answers, and no model is named`, "Set its Model, unless every project names one.")
    }
    return reached.lists === "others"
      ? warning(name, `${who} answers and does not list ${provider.model}`, "Check its Model.")
      : ok(name, `${who} answers; ${provider.model}`)
  })
