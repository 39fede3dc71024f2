/** May this page be fetched? A person decides about the exact address, unless the run approves such calls by itself. */
import { createHash } from "node:crypto"
import { Effect } from "effect"
import { RunWaits } from "#core/run/waits.ts"
import type { GateRun, Patience } from "#runtime/turn/gate/run.ts"
import { explain, refused } from "#runtime/turn/gate/verdict.ts"

export const fetchTool = "web_fetch"

/** Characters. */
const maxUrl = 8_192
const maxIntention = 1_000

/** One spelling for one address: what stands behind `#` never leaves the machine. */
const addressOf = (text: string): string | undefined => {
  if (text.length > maxUrl || !URL.canParse(text)) return undefined
  const url = new URL(text)
  url.hash = ""
  return url.protocol === "https:" || url.protocol === "http:" ? url.href : undefined
}

export const subjectOfAddress = (address: string): string =>
  `sha256:${createHash("sha256").update(address).digest("hex")}`

export const makePermitFetch = Effect.fnUntraced(function* ({ runId, fence }: GateRun, { tool }: Patience) {
  const waits = yield* RunWaits
  return Effect.fn("gate.fetch")(function* (callId: string, input: unknown) {
    const url = member(input, "url")
    const address = url === undefined ? undefined : addressOf(url)
    if (address === undefined) return refused("web_fetch needs an http or https address.")
    const intention = member(input, "intention")?.slice(0, maxIntention)
    const permission = yield* waits.permitTool({
      runId,
      fence,
      callId,
      patience: tool,
      toolName: fetchTool,
      subject: subjectOfAddress(address),
      url: address,
      ...(intention === undefined ? {} : { intention }),
    })
    return explain(permission, "fetching this address")
  })
})

const member = (input: unknown, name: string): string | undefined => {
  const value: unknown = typeof input === "object" && input !== null ? Reflect.get(input, name) : undefined
  return typeof value === "string" ? value : undefined
}
