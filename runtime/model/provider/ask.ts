/** Asks one provider: its package opened, every try bounded, failed tries made again. */
import { Duration, Effect, type Scope, Stream } from "effect"
import { registerSecret } from "#core/redaction.ts"
import { ModelFailed, type ModelPart, type ModelRequest } from "#core/wire/model.ts"
import { exchange } from "#runtime/model/provider/exchange.ts"
import { makeFetch } from "#runtime/model/provider/http.ts"
import { openModel } from "#runtime/model/provider/open.ts"
import { addressOf, nameOf, type Provider, secretsOf } from "#runtime/model/provider/provider.ts"
import { retried } from "#runtime/model/provider/retry.ts"

export interface AskOptions {
  readonly maxAttempts: number
  readonly idle: Duration.Input
}

export interface Question {
  readonly provider: Provider
  readonly modelId: string
  readonly request: ModelRequest
  /** Tokens that the model writes at most. */
  readonly outputTokens: number
}

export type Ask = (question: Question) => Stream.Stream<ModelPart, ModelFailed>

export const makeAsk = (options: AskOptions): Effect.Effect<Ask, never, Scope.Scope> =>
  Effect.map(makeFetch, (fetch) => ({ provider, modelId, request, outputTokens }: Question) => {
    const address = addressOf(provider)
    if (address === undefined) return Stream.fail(noAddress)
    if (provider.baseUrl === null && provider.apiKey === null) return Stream.fail(noKey)
    for (const secret of secretsOf(provider)) registerSecret(secret)
    const spec = {
      open: async () => openModel(provider, address, modelId, await fetch()),
      type: provider.type,
      name: nameOf(provider),
      outputTokens,
      idle: Duration.fromInputUnsafe(options.idle),
    }
    return retried(exchange(spec, request), options.maxAttempts)
  })

const misconfigured = (message: string) => new ModelFailed({ kind: "Configuration", retryable: false, message })
const noAddress = misconfigured("A provider of the type azure needs a base URL.")
const noKey = misconfigured("The provider has no key. A server of one's own, with a base URL, may need none.")
