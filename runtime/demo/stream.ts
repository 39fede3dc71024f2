/** A run's server-sent events, followed over lost connections: it comes back with the last id that it saw. */
import { setTimeout as sleep } from "node:timers/promises"

export interface Seen {
  readonly sequence: number
  readonly type: string
  readonly payload: Readonly<Record<string, unknown>>
}

interface Following {
  readonly url: string
  readonly authorization: string
  readonly signal: AbortSignal
  readonly onEvent: (event: Seen) => void
}

/** Connections in a row over which nothing came. */
const maxLost = 20
/** Milliseconds before the next one. */
const pause = 250

/** Ends with the frame `done`; throws where the service refuses, or does not come back. */
export const followStream = async ({ url, authorization, signal, onEvent }: Following): Promise<void> => {
  let last = 0
  for (let lost = 0; lost < maxLost; lost++) {
    const before = last
    const done = await readOnce({ url, authorization, signal, after: last }, (event) => {
      last = event.sequence
      onEvent(event)
    })
    if (done) return
    if (last > before) lost = 0
    await sleep(pause, undefined, { signal })
  }
  throw new Error("the connection is lost again and again")
}

/** True where the service said that it is done, false where the connection ended before. */
const readOnce = async (
  { url, authorization, signal, after }: Omit<Following, "onEvent"> & { readonly after: number },
  onEvent: (event: Seen) => void,
): Promise<boolean> => {
  let response: Response
  try {
    response = await fetch(url, { headers: { authorization, "last-event-id": String(after) }, signal })
  } catch (error) {
    if (signal.aborted) throw error
    return false
  }
  if (!response.ok) throw new Error(`${response.status} ${await response.text()}`)
  let rest = ""
  try {
    for await (const chunk of response.body?.pipeThrough(new TextDecoderStream()) ?? []) {
      const blocks = (rest + chunk).split("\n\n")
      rest = blocks.pop() ?? ""
      for (const block of blocks) {
        const frame = frameIn(block)
        if (frame === "done") return true
        if (frame !== undefined) onEvent(frame)
      }
    }
  } catch (error) {
    if (signal.aborted) throw error
  }
  return false
}

/** Undefined for comments, and for whatever is not an event of the run. */
export const frameIn = (block: string): Seen | "done" | undefined => {
  const [, id, type, data] = /^(?:id: (\d+)\n)?event: ([\w.]+)\ndata: (.*)$/.exec(block) ?? []
  if (id === undefined) return type === "done" ? "done" : undefined
  const payload: unknown = JSON.parse(data ?? "{}")
  if (type === undefined || typeof payload !== "object" || payload === null) return undefined
  return { sequence: Number(id), type, payload: Object.fromEntries(Object.entries(payload)) }
}
