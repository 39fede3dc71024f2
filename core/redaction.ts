/**
 * Takes credentials out of text, by their form and by registered value. Used for events, logs, errors and the output of
 * commands. It cannot know every secret: what the service itself holds is registered, so that at least that never
 * leaves.
 */
import { mayHoldSecret } from "#core/redaction/secrets.ts"
import { redactText } from "#core/redaction/stream.ts"

export { registerSecret } from "#core/redaction/secrets.ts"
export { type RedactingStream, type RedactionOptions, redactingStream, redactText } from "#core/redaction/stream.ts"

/** Most texts have nothing to be taken out, and are returned as they are. */
export const redact = (text: string): string => (mayHoldSecret(text) ? redactText(text, { personal: false }) : text)
