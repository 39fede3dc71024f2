/**
 * Stored text on its way to a model: one JSON object on one line, marked `svc.untrusted-context.v1`, made whole by
 * JSON.stringify and never by joining texts. Every character that could end the line, look like markup or hide is
 * escaped, so that parsing the line gives back exactly what was stored, and nothing stored is outside of it. Pure.
 */

export const untrustedFormat = "svc.untrusted-context.v1"

const escaped = (unit: string): string => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`

/** JSON in printable ASCII, without `<` and `>`. */
export const asciiJson = (value: unknown): string => JSON.stringify(value).replace(/[<>\u007f-\uffff]/g, escaped)

export const untrustedText = (members: Readonly<Record<string, unknown>>): string =>
  asciiJson({ format: untrustedFormat, ...members })
