/** `.squad/decisions.md`, and `.svc/context/boundaries.md` which is made of it. Pure. */
import type { Decision } from "#plugins/memory/decision-store.ts"
import { blockOf, escapeBlock, markOf, sectionsOf, unmarked, unmarkedSection } from "#plugins/memory/files/markdown.ts"

export interface DecisionText {
  readonly title: string
  readonly type: string
  readonly agentName: string
  readonly status: string
  readonly content: string
  readonly rationale: string | null
  readonly tags: string | null
}

type Written = Pick<Decision, "title" | "type" | "agentName" | "status" | "content" | "rationale" | "tags">

const rationaleStart = "> **Rationale:** "

const quoted = (rationale: string): string => rationaleStart + rationale.split("\n").join("\n> ")

export const decisionsFile = (decisions: ReadonlyArray<Written>): string =>
  ["# Decisions\n", ...decisions.map(section)].join("\n")

const section = ({ title, type, agentName, status, content, rationale, tags }: Written): string => {
  const mark = markOf(title, type, agentName, content, rationale, ...tags)
  return [
    `## ${title} ${mark}`,
    `**Type:** ${type} | **By:** ${agentName} | **Status:** ${status} ${mark}`,
    ...(tags.length === 0 ? [] : [`<!-- tags: ${tags.join(",")} --> ${mark}`]),
    `\n${escapeBlock(content)}\n\n${mark}`,
    ...(rationale === null ? [] : [`${quoted(rationale)}\n${mark}`]),
    "---\n",
  ].join("\n")
}

const boundary = (title: string, content: string): string => {
  const mark = markOf(title, content)
  return `## ${title} ${mark}\n\n${escapeBlock(content)}\n\n${mark}\n`
}

/** What no agent may leave: active architectural and scope decisions. */
export const boundariesFile = (decisions: ReadonlyArray<Written>): string =>
  [
    "# Boundaries\n",
    ...decisions
      .filter(({ type, status }) => status === "active" && (type === "architectural" || type === "scope"))
      .map(({ title, content }) => boundary(title, content)),
  ].join("\n")

const meta = /^\*\*Type:\*\* (\S+) \| \*\*By:\*\* (.*) \| \*\*Status:\*\* (\S+)\s*$/
const tagLine = /^<!-- tags: (.*) -->$/

/** Undefined in place of a section that is not of this form. */
export const readDecisions = (text: string): ReadonlyArray<DecisionText | undefined> =>
  sectionsOf(text, /^## /).map(unmarkedSection).map(readDecision)

const readDecision = (section: ReadonlyArray<string> | undefined): DecisionText | undefined => {
  const [heading = "", ...lines] = section ?? []
  const at = lines.findIndex((line) => line !== "")
  const found = meta.exec(unmarked(lines[at] ?? ""))
  if (found === null) return undefined
  const tags = tagLine.exec(unmarked(lines[at + 1] ?? ""))
  const rest = lines.slice(at + (tags === null ? 1 : 2))
  const end = rest.findIndex((line) => line.startsWith("---"))
  const body = end < 0 ? rest : rest.slice(0, end)
  const quote = body.findIndex((line) => line.startsWith(rationaleStart))
  const [, type = "", agentName = "", status = ""] = found
  return {
    title: heading.slice("## ".length),
    type,
    agentName,
    status,
    tags: tags?.[1] ?? null,
    content: blockOf(quote < 0 ? body : body.slice(0, quote)),
    rationale: quote < 0 ? null : unquoted(body.slice(quote)),
  }
}

const unquoted = (lines: ReadonlyArray<string>): string => {
  const end = lines.findIndex((line) => !line.startsWith(">"))
  const quote = lines.slice(0, end < 0 ? undefined : end).map((line) => line.replace(/^> ?/, ""))
  return quote.join("\n").slice(rationaleStart.length - "> ".length)
}
