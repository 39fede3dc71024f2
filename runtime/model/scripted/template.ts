/** `{{task}}` and the like in the texts of a script: a few values of the request, cut to a length. Nothing is computed. */
import type { ModelRequest } from "#core/wire/model.ts"

/** Characters of a value that is filled in. */
const maxValue = 2_000

const said = ({ messages }: ModelRequest): ReadonlyArray<string> =>
  messages.flatMap((message) => (message.role === "user" ? [message.text] : []))

export const lastResult = ({
  messages,
}: ModelRequest): { readonly text: string; readonly isError: boolean } | undefined =>
  messages.findLast((message) => message.role === "tool")?.results.at(-1)

const slots = {
  task: (request: ModelRequest) => said(request)[0] ?? "",
  said: (request: ModelRequest) => said(request).at(-1) ?? "",
  result: (request: ModelRequest) => lastResult(request)?.text ?? "",
  agent: ({ labels }: ModelRequest) => labels.agentName ?? "",
  purpose: ({ labels }: ModelRequest) => labels.purpose,
  step: ({ labels }: ModelRequest) => String(labels.step),
  runId: ({ labels }: ModelRequest) => labels.runId,
} as const

type Slot = keyof typeof slots

const isSlot = (name: string): name is Slot => Object.hasOwn(slots, name)

const form = /\{\{\s*([A-Za-z]\w*)\s*\}\}/g

const fillText = (text: string, request: ModelRequest): string =>
  text.replaceAll(form, (whole, name: string) => (isSlot(name) ? slots[name](request).slice(0, maxValue) : whole))

/** Every text in a value, at any depth; names of members stay as they are. */
export const fill = (value: unknown, request: ModelRequest): unknown => {
  if (typeof value === "string") return fillText(value, request)
  if (Array.isArray(value)) return value.map((entry) => fill(entry, request))
  if (typeof value !== "object" || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, fill(member, request)]))
}

/** Names in braces that mean nothing. */
export const unknownSlots = (value: unknown): ReadonlyArray<string> => {
  if (typeof value === "string") {
    return [...value.matchAll(form)].flatMap(([, name = ""]) => (isSlot(name) ? [] : [name]))
  }
  return typeof value === "object" && value !== null ? Object.values(value).flatMap(unknownSlots) : []
}
