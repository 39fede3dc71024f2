/**
 * The text of an HTML page, as a person would read it from top to bottom: no scripts, no styles, no tags; a line for each block. One pass
 * over the source, whatever the source is. It is no HTML parser: what is badly nested may end up on the wrong line.
 */
import { decodeEntities } from "#runtime/outgoing/html-entities.ts"

/** What is within them is not for reading. */
const skipped = new Set([
  "script",
  "style",
  "template",
  "noscript",
  "svg",
  "math",
  "iframe",
  "object",
  "canvas",
  "select",
])
/** Nothing within them is a tag: they end with their own end tag, or never. */
const raw = new Set(["script", "style", "iframe", "noscript", "textarea", "title", "xmp"])
/** An empty line around them. */
const paragraphs = new Set("blockquote dl h1 h2 h3 h4 h5 h6 hr ol p pre section table title ul".split(" "))
/** A line of their own. */
const blocks = new Set(
  "address article aside body br caption dd details dialog div dt fieldset figcaption figure footer form head header html legend li main nav option summary tbody tfoot thead tr".split(
    " ",
  ),
)
const marks: Readonly<Record<string, string>> = {
  h1: "# ",
  h2: "## ",
  h3: "### ",
  h4: "#### ",
  h5: "##### ",
  h6: "###### ",
  li: "- ",
}

export const htmlText = (html: string): string => {
  const page = new Page()
  let at = 0
  while (at < html.length) {
    const open = html.indexOf("<", at)
    if (open < 0) break
    page.text(html.slice(at, open))
    const tag = tagAt(html, open)
    at = tag.end
    if (tag.name === "") {
      // a comment, a declaration, or a sign that begins no tag
      if (tag.text !== "") page.text(tag.text)
      continue
    }
    if (raw.has(tag.name) && !tag.closing) {
      const close = endOf(html, tag.name, at)
      page.tag(tag.name, false)
      if (!skipped.has(tag.name)) page.text(html.slice(at, close))
      at = close
      continue
    }
    page.tag(tag.name, tag.closing)
  }
  page.text(html.slice(at))
  return page.result()
}

interface Tag {
  /** In small letters; empty where it is none. */
  readonly name: string
  readonly closing: boolean
  readonly end: number
  readonly text: string
}

const isLetter = (code: number): boolean => (code | 0x20) >= 0x61 && (code | 0x20) <= 0x7a

const tagAt = (html: string, open: number): Tag => {
  if (html.startsWith("<!--", open)) return nothing(after(html, "-->", open + 4))
  if (html.startsWith("<!", open) || html.startsWith("<?", open)) return nothing(after(html, ">", open))
  const closing = html[open + 1] === "/"
  const from = open + (closing ? 2 : 1)
  if (!isLetter(html.charCodeAt(from))) return { name: "", closing: false, end: open + 1, text: "<" }
  let to = from
  while (to < html.length && !/[\s/>]/.test(html.charAt(to))) to++
  return { name: html.slice(from, to).toLowerCase(), closing, end: endOfTag(html, to), text: "" }
}

const nothing = (end: number): Tag => ({ name: "", closing: false, end, text: "" })

const after = (html: string, sign: string, from: number): number => {
  const found = html.indexOf(sign, from)
  return found < 0 ? html.length : found + sign.length
}

/** Behind the `>` that is not within a value. */
const endOfTag = (html: string, from: number): number => {
  let quote = ""
  for (let at = from; at < html.length; at++) {
    const sign = html.charAt(at)
    if (quote !== "") quote = sign === quote ? "" : quote
    else if (sign === ">") return at + 1
    else if ((sign === '"' || sign === "'") && html[at - 1] === "=") quote = sign
  }
  return html.length
}

/** Where the end tag begins. */
const endOf = (html: string, name: string, from: number): number => {
  for (let at = html.indexOf("</", from); at >= 0; at = html.indexOf("</", at + 2)) {
    if (html.slice(at + 2, at + 2 + name.length).toLowerCase() === name) return at
  }
  return html.length
}

/** Collects what is read: words with one space between them, lines, and what is set as it is. */
class Page {
  readonly #lines: Array<string> = []
  /** Pieces of the line that is being read: none is empty. */
  #line: Array<string> = []
  #skipping: string | undefined
  #depth = 0
  #preformatted = 0

  text(source: string): void {
    if (this.#skipping !== undefined) return
    const text = decodeEntities(source)
    if (this.#preformatted === 0) {
      const words = text.replace(/\s+/g, " ")
      this.#add(this.#line.at(-1)?.endsWith(" ") === false ? words : words.trimStart())
      return
    }
    const [first = "", ...rest] = text.replaceAll("\r\n", "\n").split("\n")
    this.#add(first)
    for (const line of rest) {
      this.#lines.push(this.#take())
      this.#add(line)
    }
  }

  tag(name: string, closing: boolean): void {
    if (this.#skipping !== undefined) {
      if (name === this.#skipping) this.#depth += closing ? -1 : 1
      if (this.#depth === 0) this.#skipping = undefined
      return
    }
    if (skipped.has(name) && !closing) {
      this.#skipping = name
      this.#depth = 1
      return
    }
    if (paragraphs.has(name)) this.#end(true)
    else if (blocks.has(name)) this.#end(false)
    else if ((name === "td" || name === "th") && !closing && this.#line.length > 0) this.#add(" | ")
    if (name === "pre") this.#preformatted = Math.max(0, this.#preformatted + (closing ? -1 : 1))
    if (!closing) this.#add(marks[name] ?? "")
  }

  result(): string {
    this.#end(false)
    return this.#lines
      .join("\n")
      .replace(/\n{3,}/g, "\n\n")
      .trim()
  }

  #add(text: string): void {
    if (text !== "") this.#line.push(text)
  }

  #take(): string {
    const line = this.#line.join("").trimEnd()
    this.#line = []
    return line
  }

  #end(paragraph: boolean): void {
    const line = this.#take()
    // a mark with nothing behind it is left out
    if (line !== "" && !/^(?:#{1,6}|-)$/.test(line)) this.#lines.push(line)
    if (paragraph && this.#lines.at(-1) !== "") this.#lines.push("")
  }
}
