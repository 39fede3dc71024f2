/**
 * What a provider wants back with the next request, beside the texts and the calls: its signed or sealed
 * reasoning, signatures of calls. It goes back only to the kind of provider that it came from.
 */
import type { SharedV4ProviderMetadata } from "@ai-sdk/provider"
import { Schema } from "effect"

const Metadata = Schema.Record(Schema.String, Schema.Record(Schema.String, Schema.Unknown))

const OpaqueState = Schema.Struct({
  /** As the package names itself: `anthropic.messages`. */
  provider: Schema.String,
  reasoning: Schema.Array(Schema.Struct({ text: Schema.String, metadata: Metadata })),
  /** By the id of the call. */
  calls: Schema.Record(Schema.String, Metadata),
})
export interface OpaqueState {
  readonly provider: string
  readonly reasoning: ReadonlyArray<{ readonly text: string; readonly metadata: SharedV4ProviderMetadata }>
  readonly calls: Readonly<Record<string, SharedV4ProviderMetadata>>
}

const decode = Schema.decodeUnknownOption(OpaqueState)

/** Undefined where it is of another provider, or of none. */
export const readOpaque = (value: unknown, provider: string): OpaqueState | undefined => {
  const found = decode(value)
  // what was decoded is JSON that a package gave: its type says so, the schema only looks at the form
  return found._tag === "Some" && found.value.provider === provider ? (found.value as OpaqueState) : undefined
}

export const isEmpty = ({ reasoning, calls }: OpaqueState): boolean =>
  reasoning.length === 0 && Object.keys(calls).length === 0
