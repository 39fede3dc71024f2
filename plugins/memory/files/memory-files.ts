/** `.squad/agents/{name}/history.md` and `.svc/context/patterns.md`. Pure. */
import type { Entry } from "#plugins/memory/entry-store.ts"
import { blockOf, escapeBlock, markOf, sectionsOf, unmarked, unmarkedSection } from "#plugins/memory/files/markdown.ts"
import { importanceOf } from "#plugins/memory/values.ts"

export interface EntryText {
  readonly agentName: string
  readonly type: string
  readonly importance: string
  readonly tags: string | null
  /** `2026-11-21` */
  readonly day: string
  readonly content: string
}

type Written = Pick<Entry, "agentName" | "type" | "importance" | "tags" | "content" | "createdAt">

const dayOf = ({ createdAt }: Written): string => createdAt.slice(0, "2026-11-21".length)

const section = (heading: string, agentName: string, { importance, tags, content }: Written): string => {
  const known = [
    ...(importance === 2 ? [] : [`importance: ${importanceOf(importance)}`]),
    ...(tags.length === 0 ? [] : [`tags: ${tags.join(",")}`]),
  ]
  const mark = markOf(heading, agentName, content, ...known)
  return [
    `${heading} ${mark}`,
    ...(known.length === 0 ? [] : [`<!-- ${known.join("; ")} --> ${mark}`]),
    `\n${escapeBlock(content)}\n\n${mark}\n`,
  ].join("\n")
}

const historyHeading = "# History of "

/** The learnings and updates of agents, each of which has a part of the file. */
export const historyFile = (agents: ReadonlyArray<readonly [string, ReadonlyArray<Written>]>): string =>
  agents
    .flatMap(([agentName, entries]) => [
      `${historyHeading}${agentName}\n`,
      ...entries.map((entry) => section(`### [${entry.type}] ${dayOf(entry)}`, agentName, entry)),
    ])
    .join("\n")

export const patternsFile = (patterns: ReadonlyArray<Written>): string =>
  ["# Patterns\n", ...patterns.map((entry) => section(`### ${entry.agentName} ${dayOf(entry)}`, "", entry))].join("\n")

const known = /^<!-- (?:importance: (\w+))?(?:; )?(?:tags: (.*))? -->$/

const entryOf = (
  heading: { readonly agentName: string; readonly type: string; readonly day: string },
  lines: ReadonlyArray<string>,
): EntryText => {
  const found = known.exec(unmarked(lines[0] ?? ""))
  return {
    ...heading,
    importance: found?.[1] ?? "medium",
    tags: found?.[2] ?? null,
    content: blockOf(found === null ? lines : lines.slice(1)),
  }
}

/** Undefined in place of a section that is not of this form. */
export const readHistory = (text: string): ReadonlyArray<EntryText | undefined> =>
  sectionsOf(text, /^# /).flatMap(([top = "", ...lines]) => {
    if (!top.startsWith(historyHeading)) return []
    const agentName = top.slice(historyHeading.length)
    return sectionsOf(lines.join("\n"), /^### /).map((section) => {
      const [heading = "", ...rest] = unmarkedSection(section) ?? []
      const [, type, day] = /^### \[(\w+)\] (\d{4}-\d\d-\d\d)\s*$/.exec(heading) ?? []
      return type === undefined || day === undefined ? undefined : entryOf({ agentName, type, day }, rest)
    })
  })

export const readPatterns = (text: string): ReadonlyArray<EntryText | undefined> =>
  sectionsOf(text, /^### /).map((section) => {
    const [heading = "", ...rest] = unmarkedSection(section) ?? []
    const [, agentName, day] = /^### (.*) (\d{4}-\d\d-\d\d)\s*$/.exec(heading) ?? []
    return agentName === undefined || day === undefined ? undefined : entryOf({ agentName, type: "pattern", day }, rest)
  })
