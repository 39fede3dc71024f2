/** What a policy asks for outside of a service: counted, and answered by what its author wrote into a case, or not at all. */
import { Schema } from "effect"
import { canonicalJson } from "#core/canonical-json.ts"
import { type IoCall, ioCalls, ioRefused, noIo, type PolicyIo } from "#runtime/plugin-host/wasm/io-request.ts"

export const PlayedCall = Schema.Struct({
  call: Schema.Literals(ioCalls),
  /** What it has to ask. Absent: anything. */
  request: Schema.optionalKey(Schema.Unknown),
  /** As the host would answer: `{"ok": true, "value": "1"}`. */
  answer: Schema.Unknown,
})
export type PlayedCall = typeof PlayedCall.Type

export interface PlayedIo {
  readonly io: PolicyIo
  /** How often it asked. */
  readonly calls: () => number
}

/** In this order. */
export const playIo = (played: ReadonlyArray<PlayedCall> = []): PlayedIo => {
  let calls = 0
  return {
    io: (call, request) => {
      const next = played[calls++]
      if (next === undefined) return noIo(call, request)
      const problem = mismatch(next, call, request)
      return problem === undefined ? Buffer.from(JSON.stringify(next.answer)) : ioRefused("unavailable", problem)
    },
    calls: () => calls,
  }
}

const mismatch = (expected: PlayedCall, call: IoCall, request: Uint8Array): string | undefined => {
  if (expected.call !== call) return `The case has an answer of ${expected.call} here, and ${call} was called.`
  if (expected.request === undefined) return undefined
  const text = Buffer.from(request).toString()
  const wanted = canonicalJson(expected.request)
  return spelled(text) === wanted ? undefined : `The case has an answer to ${wanted} here, and ${text} was asked.`
}

const spelled = (text: string): string => {
  try {
    return canonicalJson(JSON.parse(text))
  } catch {
    return text
  }
}
