/**
 * `Models`: which provider a source means, and its answers. Sources are `hosted`, `byok` (the active one of the
 * administrators, or else that of the settings), `byok:<id>`, `scripted` and `tape`.
 */
import { Effect, Layer, Stream } from "effect"
import { type ModelChoice, Models } from "#core/ports/models.ts"
import { Settings } from "#core/settings.ts"
import { ModelFailed, type ModelLimits, type ModelPart, type ModelRequest } from "#core/wire/model.ts"
import { ByokProviders } from "#runtime/model/byok/providers.ts"
import { limitsOf } from "#runtime/model/limits.ts"
import { makeAsk } from "#runtime/model/provider/ask.ts"
import { byokProvider, hostedProvider, type Provider } from "#runtime/model/provider/provider.ts"
import { makeScripted, scriptedLimits } from "#runtime/model/scripted/scripted.ts"
import type { Player } from "#runtime/model/tape/player.ts"
import { makeTape } from "#runtime/model/tape/tape.ts"

export const modelsLayer: Layer.Layer<Models, never, Settings | ByokProviders> = Layer.effect(
  Models,
  Effect.suspend(() => make),
)

const configuration = (message: string) => new ModelFailed({ kind: "Configuration", retryable: false, message })

const make = Effect.gen(function* () {
  const settings = yield* Settings
  const byok = yield* ByokProviders
  const { Hosted, Byok, Scripted, MaxAttempts, IdleTimeoutSeconds } = settings.Providers
  const ask = yield* makeAsk({ maxAttempts: MaxAttempts, idle: `${IdleTimeoutSeconds} seconds` })
  const scripted = makeScripted(Scripted.Path)
  const tape = yield* makeTape(settings)
  const player = tape.player ?? Effect.fail(configuration("No tape is replayed: Providers:Tape:Mode is not `replay`."))
  const replayed: Player | undefined = yield* Effect.orElseSucceed(player, () => undefined)

  /** A provider of the administrators, by its id; null is the active one. */
  const stored = (id: string | null) =>
    Effect.catch(byok.open(id), (failure) =>
      failure._tag === "DatabaseUnavailable"
        ? Effect.fail(new ModelFailed({ kind: "ProviderUnavailable", retryable: true, message: failure.message }))
        : Effect.fail(configuration(`The provider's key cannot be used: ${failure.message}.`)),
    )

  const providerOf = Effect.fnUntraced(function* (source: string) {
    if (source === "hosted") {
      return (
        hostedProvider(settings) ?? (yield* configuration("There is no hosted provider: Providers:Hosted is not set."))
      )
    }
    if (source === "byok") {
      const provider = (yield* stored(null)) ?? byokProvider(settings)
      return (
        provider ?? (yield* configuration("There is no BYOK provider: none is active, and Providers:Byok is not set."))
      )
    }
    if (source.startsWith("byok:")) {
      const provider = yield* stored(source.slice("byok:".length))
      return provider ?? (yield* configuration("This BYOK provider does not exist any more."))
    }
    return yield* configuration(`There is no source of models with the name ${JSON.stringify(source.slice(0, 80))}.`)
  })

  const modelOf = (provider: Provider, modelId: string | null): Effect.Effect<string, ModelFailed> => {
    const model = modelId ?? provider.model
    return model === null
      ? Effect.fail(configuration("No model is named: neither by the run nor by its provider."))
      : Effect.succeed(model)
  }

  const limits = (source: string, modelId: string | null): ModelLimits => {
    switch (source) {
      case "scripted":
        return scriptedLimits
      case "tape":
        return replayed?.limits ?? limitsOf(modelId)
      case "hosted":
        return limitsOf(modelId ?? Hosted.Model ?? null, Hosted.ContextTokens)
      default:
        return limitsOf(modelId ?? Byok.Model ?? null, Byok.ContextTokens)
    }
  }

  const live = (request: ModelRequest): Stream.Stream<ModelPart, ModelFailed> =>
    Stream.unwrap(
      Effect.gen(function* () {
        const provider = yield* providerOf(request.source)
        const model = yield* modelOf(provider, request.modelId)
        const { outputTokens } = limits(request.source, model)
        return ask({ provider, modelId: model, request, outputTokens })
      }),
    )

  const answer = (request: ModelRequest): Stream.Stream<ModelPart, ModelFailed> =>
    request.source === "scripted" ? scripted.stream(request) : live(request)

  return Models.of({
    limits,
    stream: (request) => {
      if (request.source === "tape") return Stream.unwrap(Effect.map(player, ({ stream }) => stream(request)))
      return tape.record === undefined
        ? answer(request)
        : tape.record(request, limits(request.source, request.modelId), answer(request))
    },
    resolve: Effect.fn("Models.resolve")(function* (source, modelId) {
      if (source === "scripted") {
        yield* scripted.check
        return standIn("scripted")
      }
      if (source === "tape") {
        yield* player
        return standIn("tape")
      }
      const provider = yield* providerOf(source)
      const model = yield* modelOf(provider, modelId)
      return {
        source,
        modelId: model,
        provenance: {
          provider: provider.type,
          kind: source === "hosted" ? "platform_hosted" : "byok",
          model,
        },
      } satisfies ModelChoice
    }),
  })
})

/** No model, and it says so. */
const standIn = (name: "scripted" | "tape"): ModelChoice => ({
  source: name,
  modelId: name,
  provenance: { provider: name, kind: name, model: name },
})
