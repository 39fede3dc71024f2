/** What a policy asks of the world beyond its question, as bytes: what is within them is read where it is served. */

export const ioCalls = ["http", "kv"] as const
export type IoCall = (typeof ioCalls)[number]

/** Blocks its thread until the answer is there. Both are JSON in UTF-8. */
export type PolicyIo = (call: IoCall, request: Uint8Array) => Uint8Array

/** Bytes of one request. */
export const mostRequestBytes = 64 * 1_024

export interface IoRefused {
  readonly ok: false
  readonly reason: string
  readonly message: string
}

const utf8 = new TextEncoder()

export const ioRefused = (reason: string, message: string): Uint8Array =>
  utf8.encode(JSON.stringify({ ok: false, reason, message } satisfies IoRefused))

/** For whoever asks a policy outside of a service. */
export const noIo: PolicyIo = (call) =>
  ioRefused("unavailable", `There is no ${call} here: the policy is asked outside of a service.`)
