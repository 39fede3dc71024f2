/** What of a request is on a tape, and is compared: without secrets, ids and paths. */
import { redact } from "#core/redaction.ts"
import type { ModelRequest } from "#core/wire/model.ts"
import { makeNames, mapTexts, type Names } from "#runtime/model/tape/names.ts"

export interface TapedRequest {
  readonly system: unknown
  readonly messages: ReadonlyArray<unknown>
  readonly tools: unknown
  readonly maxOutputTokens: number | null
}

/** `fixed` are the texts that have names in every run. */
export const tapedRequest = (
  { system, messages, tools, maxOutputTokens, labels }: ModelRequest,
  fixed: Readonly<Record<string, string>>,
): { readonly request: TapedRequest; readonly names: Names } => {
  const names = makeNames({ ...fixed, run: labels.runId })
  const clean = (value: unknown) => mapTexts(value, (text) => names.hide(redact(text)))
  return {
    request: {
      system: clean(system),
      messages: messages.map(clean),
      tools: clean(tools),
      maxOutputTokens: maxOutputTokens ?? null,
    },
    names,
  }
}
