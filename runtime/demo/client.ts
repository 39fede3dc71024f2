/** What the demo does as a client of the service: plain HTTP, as anybody could. */
import { Effect } from "effect"

export interface Seen {
  readonly id: number
  readonly type: string
  readonly data: string
}

export const makeClient = (port: number, key: string) => {
  const base = `http://127.0.0.1:${port}`
  const authorization = `Bearer ${key}`

  const call = (method: string, path: string, body?: unknown) =>
    Effect.promise(async () => {
      const response = await fetch(base + path, {
        method,
        headers: { authorization, ...(body === undefined ? {} : { "content-type": "application/json" }) },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      })
      const text = await response.text()
      if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`)
      return JSON.parse(text)
    })

  /** Follows from the cursor until `enough` says so; gives the last id seen, and drops the connection. */
  const follow = (runId: string, after: number, enough: (event: Seen) => boolean) =>
    Effect.promise(async () => {
      const cut = new AbortController()
      const response = await fetch(`${base}/api/runs/${runId}/stream`, {
        headers: { authorization, "last-event-id": String(after) },
        signal: cut.signal,
      })
      let rest = ""
      let last = after
      for await (const chunk of response.body?.pipeThrough(new TextDecoderStream()) ?? []) {
        const blocks = (rest + chunk).split("\n\n")
        rest = blocks.pop() ?? ""
        for (const block of blocks) {
          const [, id, type, data] = /^id: (\d+)\nevent: (.+)\ndata: (.*)$/.exec(block) ?? []
          if (id === undefined || type === undefined || data === undefined) continue
          last = Number(id)
          if (!enough({ id: last, type, data })) continue
          cut.abort()
          return last
        }
      }
      return last
    })

  return {
    get: (path: string) => call("GET", path),
    post: (path: string, body: unknown) => call("POST", path, body),
    follow,
  }
}
