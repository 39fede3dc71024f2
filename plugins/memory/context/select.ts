/**
 * What of the memory an agent is told, within a budget. Decisions that bind everybody are never left out: where they
 * alone are more than the budget there is no context at all. Then what fits of the rest, the most important and the
 * newest first, up to the first that does not fit. Pure.
 */
import { asciiJson } from "#core/untrusted-context.ts"
import {
  type ContextDecision,
  type ContextMemory,
  type ContextSession,
  type Envelope,
  envelopeText,
} from "#plugins/memory/context/envelope.ts"

/** As the settings count. */
export const charactersPerToken = 4

export interface Budget {
  /** Memories at most. */
  readonly maxItems: number
  readonly maxTokens: number
}

export interface Candidates {
  /** Approved, active, of a binding type. */
  readonly decisions: ReadonlyArray<ContextDecision>
  /** Best first; those beyond `maxItems` need not be there. */
  readonly memories: ReadonlyArray<ContextMemory>
  /** Also of those that are not there. */
  readonly memoryCount: number
  readonly session: ContextSession | null
  /** The run is a part of another's work: it is told of what binds everybody, and of nothing else. */
  readonly child: boolean
}

export type OmissionCause = "max_items" | "max_tokens" | "child_run"

export type Selection =
  | {
      readonly _tag: "Selected"
      readonly envelope: Envelope
      readonly omittedMemoryCount: number
      readonly omittedSessionCount: number
      readonly omissionCauses: ReadonlyArray<OmissionCause>
    }
  | { readonly _tag: "OverBudget"; readonly tokens: number }

const tokensOf = (characters: number): number => Math.ceil(characters / charactersPerToken)

/** What one more member adds to the line, with its comma. */
const sizeOf = (value: unknown): number => asciiJson(value).length + 1

export const select = (
  { decisions, memories, memoryCount, session, child }: Candidates,
  { maxItems, maxTokens }: Budget,
): Selection => {
  let characters = envelopeText({ decisions, memories: [], session: null }).length
  if (decisions.length > 0 && tokensOf(characters) > maxTokens) {
    return { _tag: "OverBudget", tokens: tokensOf(characters) }
  }
  if (child) {
    const omittedSessionCount = session === null ? 0 : 1
    return {
      _tag: "Selected",
      envelope: { decisions, memories: [], session: null },
      omittedMemoryCount: memoryCount,
      omittedSessionCount,
      omissionCauses: memoryCount + omittedSessionCount > 0 ? ["child_run"] : [],
    }
  }
  const fits = (value: unknown): boolean => {
    const size = sizeOf(value)
    if (tokensOf(characters + size) > maxTokens) return false
    characters += size
    return true
  }
  const among = memories.slice(0, maxItems)
  const stop = among.findIndex((memory) => !fits(memory))
  const included = stop < 0 ? among : among.slice(0, stop)
  const withSession = session !== null && fits(session)
  const omittedMemoryCount = memoryCount - included.length
  const omittedSessionCount = session !== null && !withSession ? 1 : 0
  return {
    _tag: "Selected",
    envelope: { decisions, memories: included, session: withSession ? session : null },
    omittedMemoryCount,
    omittedSessionCount,
    omissionCauses: [
      ...(stop < 0 && omittedMemoryCount > 0 ? (["max_items"] as const) : []),
      ...(stop >= 0 || omittedSessionCount > 0 ? (["max_tokens"] as const) : []),
    ],
  }
}
