/** Language models, whoever provides them. */
import { Context, type Effect, type Stream } from "effect"
import type { ModelFailed, ModelLimits, ModelPart, ModelRequest } from "#core/wire/model.ts"

export interface ModelChoice {
  /** As in `ModelRequest`. */
  readonly source: string
  readonly modelId: string | null
  /** What may be shown of where the model comes from: no key, no address with a credential. */
  readonly provenance: { readonly provider: string; readonly kind: string; readonly model: string | null }
}

export class Models extends Context.Service<
  Models,
  {
    /** Interrupting the stream aborts the exchange. */
    readonly stream: (request: ModelRequest) => Stream.Stream<ModelPart, ModelFailed>
    /** Which provider and model this would be; fails with `Configuration` where there is none. */
    readonly resolve: (source: string, modelId: string | null) => Effect.Effect<ModelChoice, ModelFailed>
    readonly limits: (source: string, modelId: string | null) => ModelLimits
  }
>()("core/Models") {}
