/** An answer with the status of a success that is no stream of parts: the page of a proxy, or an error in disguise. */

/** Types that no provider gives a stream; many give it none at all, or a wrong one. */
const others = ["text/html", "application/json", "application/xml", "text/xml"] as const

/** Characters of it that are looked at. */
const maxBody = 20_000

export class NoStream extends Error {
  override readonly name = "NoStream"
  readonly contentType: string
  /** Its beginning: to be read, never to be shown. */
  readonly body: string

  constructor(contentType: string, body: string) {
    super(`The answer is ${contentType}`)
    this.contentType = contentType
    this.body = body
  }
}

/** Throws where the answer to a request for a stream is something else. */
export const refuseOthers = async (answer: Response): Promise<Response> => {
  const contentType = answer.headers.get("content-type")?.split(";")[0]?.trim().toLowerCase()
  const other = others.find((type) => type === contentType)
  if (!answer.ok || other === undefined) return answer
  throw new NoStream(other, await beginning(answer))
}

const beginning = async ({ body }: Response): Promise<string> => {
  let text = ""
  // leaving the loop gives the rest up
  for await (const piece of body?.pipeThrough(new TextDecoderStream()) ?? []) {
    text += piece
    if (text.length >= maxBody) break
  }
  return text.slice(0, maxBody)
}
