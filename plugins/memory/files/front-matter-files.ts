/** `.squad/decisions/inbox/{slug}.md` and `.squad/identity/now.md`: values first, then text. Pure. */
import { isMap, isScalar, parseDocument } from "yaml"
import { blockOf, escapeBlock, frontMatter } from "#plugins/memory/files/markdown.ts"
import type { InboxEntry } from "#plugins/memory/inbox-store.ts"
import type { Session } from "#plugins/memory/session-store.ts"

const rationaleStart = "**Rationale:** "

type Proposal = Pick<InboxEntry, "agentName" | "slug" | "type" | "title" | "content" | "rationale">

export const inboxFile = ({ agentName, slug, type, title, content, rationale }: Proposal): string =>
  [
    frontMatter({ agent: agentName, slug, type, title }),
    `${escapeBlock(content)}\n`,
    ...(rationale === null ? [] : [`${rationaleStart}${escapeBlock(rationale)}\n`]),
  ].join("\n")

interface Parsed {
  readonly values: ReadonlyMap<string, string>
  readonly lines: ReadonlyArray<string>
}

/** Undefined where there is no front matter, or none of plain values. */
const parse = (text: string): Parsed | undefined => {
  const [, head, rest] = /^---\n([\s\S]*?\n)---(?:\n|$)([\s\S]*)$/.exec(text.replaceAll("\r\n", "\n")) ?? []
  if (head === undefined || rest === undefined) return undefined
  const document = parseDocument(head, { schema: "failsafe", uniqueKeys: true, merge: false })
  if (document.errors.length > 0 || !isMap(document.contents)) return undefined
  const values = new Map<string, string>()
  for (const { key, value } of document.contents.items) {
    if (isScalar(key) && isScalar(value) && typeof value.value === "string") values.set(String(key.value), value.value)
  }
  return { values, lines: rest.split("\n") }
}

export interface ProposalText {
  readonly agent_name: string | undefined
  readonly slug: string | undefined
  readonly type: string | undefined
  readonly title: string | undefined
  readonly content: string
  readonly rationale: string | null
}

export const readInboxFile = (text: string): ProposalText | undefined => {
  const parsed = parse(text)
  if (parsed === undefined) return undefined
  const { values, lines } = parsed
  const at = lines.findIndex((line) => line.startsWith(rationaleStart))
  const rationale = at < 0 ? null : blockOf([(lines[at] ?? "").slice(rationaleStart.length), ...lines.slice(at + 1)])
  return {
    agent_name: values.get("agent"),
    slug: values.get("slug"),
    type: values.get("type"),
    title: values.get("title"),
    content: blockOf(at < 0 ? lines : lines.slice(0, at)),
    rationale,
  }
}

export const nowFile = ({ updatedAt, focusArea, activeIssues, summary }: Session): string =>
  [
    frontMatter({ updated_at: updatedAt, focus_area: focusArea, active_issues: activeIssues ?? "" }),
    ...(summary === null ? [] : [`${escapeBlock(summary)}\n`]),
  ].join("\n")

export interface NowText {
  readonly updatedAt: string | undefined
  readonly focusArea: string
  readonly activeIssues: string | null
  readonly summary: string | null
}

export const readNowFile = (text: string): NowText | undefined => {
  const parsed = parse(text)
  const focusArea = parsed?.values.get("focus_area")
  if (parsed === undefined || focusArea === undefined) return undefined
  return {
    updatedAt: parsed.values.get("updated_at"),
    focusArea,
    activeIssues: parsed.values.get("active_issues") || null,
    summary: blockOf(parsed.lines) || null,
  }
}
