/** `.squad/decisions.md`, and `.svc/context/boundaries.md` which is made of it. Pure. */
import type { Decision } from "#plugins/memory/decision-store.ts"
import { blockOf, escapeBlock, sectionsOf } from "#plugins/memory/files/markdown.ts"

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

const section = ({ title, type, agentName, status, content, rationale, tags }: Written): string =>
  [
    `## ${title}\n`,
    `**Type:** ${type} | **By:** ${agentName} | **Status:** ${status}`,
    ...(tags.length === 0 ? [] : [`<!-- tags: ${tags.join(",")} -->`]),
    `\n${escapeBlock(content)}\n`,
    ...(rationale === null ? [] : [`${quoted(rationale)}\n`]),
    "---\n",
  ].join("\n")

/** What no agent may leave: active architectural and scope decisions. */
export const boundariesFile = (decisions: ReadonlyArray<Written>): string =>
  [
    "# Boundaries\n",
    ...decisions
      .filter(({ type, status }) => status === "active" && (type === "architectural" || type === "scope"))
      .map(({ title, content }) => `## ${title}\n\n${escapeBlock(content)}\n`),
  ].join("\n")

const meta = /^\*\*Type:\*\* (\S+) \| \*\*By:\*\* (.*) \| \*\*Status:\*\* (\S+)\s*$/
const tagLine = /^<!-- tags: (.*) -->$/

/** Undefined in place of a section that is not of this form. */
export const readDecisions = (text: string): ReadonlyArray<DecisionText | undefined> =>
  sectionsOf(text, /^## /).map(([heading = "", ...lines]) => {
    const at = lines.findIndex((line) => line !== "")
    const found = meta.exec(lines[at] ?? "")
    if (found === null) return undefined
    const tags = tagLine.exec(lines[at + 1] ?? "")
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
  })

const unquoted = (lines: ReadonlyArray<string>): string => {
  const end = lines.findIndex((line) => !line.startsWith(">"))
  const quote = lines.slice(0, end < 0 ? undefined : end).map((line) => line.replace(/^> ?/, ""))
  return quote.join("\n").slice(rationaleStart.length - "> ".length)
}
