/**
 * The memory of a project as files of its repository. The database is what is true; the files are made from it, the
 * same every time, so that two branches that both export merge line by line (`merge=union`).
 */
import { Effect } from "effect"
import type { Entry } from "#plugins/memory/entry-store.ts"
import { boundariesFile, decisionsFile } from "#plugins/memory/files/decision-files.ts"
import { inFolder } from "#plugins/memory/files/folder.ts"
import { inboxFile, nowFile } from "#plugins/memory/files/front-matter-files.ts"
import { historyFile, patternsFile } from "#plugins/memory/files/memory-files.ts"
import { places } from "#plugins/memory/files/places.ts"
import type { Memory } from "#plugins/memory/memory.ts"
import { kebab } from "#plugins/memory/text.ts"

export interface Exported {
  readonly decisions: number
  readonly inbox: number
  readonly memories: number
}

export const exportMemory = ({ decisions, inbox, entries, sessions }: Memory) =>
  Effect.fn("memory.export")(function* (projectId: string, workingDirectory: string) {
    const taken = yield* decisions.everything(projectId)
    const pending = yield* inbox.pending(projectId)
    const remembered = yield* entries.everything(projectId)
    const session = yield* sessions.current(projectId)
    const patterns = remembered.filter(({ type }) => type === "pattern")
    const histories = byFolder(remembered.filter(({ type }) => type === "learning" || type === "update"))
    yield* inFolder(workingDirectory, async (folder) => {
      await folder.write(places.decisions, decisionsFile(taken))
      await folder.write(places.boundaries, boundariesFile(taken))
      await folder.write(places.patterns, patternsFile(patterns))
      for (const [name, agents] of histories) await folder.write(places.history(name), historyFile(agents))
      const current = new Set(pending.map(({ slug }) => `${slug}.md`))
      for (const entry of pending) await folder.write(places.inbox(`${entry.slug}.md`), inboxFile(entry))
      for (const name of await folder.list(places.inboxFolder)) {
        if (name.endsWith(".md") && !current.has(name)) await folder.remove(places.inbox(name))
      }
      if (session !== undefined) await folder.write(places.now, nowFile(session))
      for (const [place, lines] of places.attributes) {
        await folder.write(place, withLines((await folder.read(place)) ?? "", lines))
      }
    })
    const exported: Exported = {
      decisions: taken.length,
      inbox: pending.length,
      memories: patterns.length + histories.reduce((sum, [, agents]) => sum + countOf(agents), 0),
    }
    return exported
  })

type Agents = ReadonlyArray<readonly [string, ReadonlyArray<Entry>]>

const countOf = (agents: Agents): number => agents.reduce((sum, [, entries]) => sum + entries.length, 0)

/** Agents whose names are the same as a folder share its file, each with a part of its own. */
const byFolder = (entries: ReadonlyArray<Entry>): ReadonlyArray<readonly [string, Agents]> => {
  const agents = Object.entries(Object.groupBy(entries, ({ agentName }) => `/${agentName}`))
    .map(([key, own = []]) => [key.slice(1), own] as const)
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
  const folders = Object.groupBy(agents, ([name]) => kebab(name))
  return Object.entries(folders)
    .map(([name, own = []]) => [name, own] as const)
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
}

/** Lines that are there already stay where they are. */
const withLines = (text: string, lines: ReadonlyArray<string>): string => {
  const there = new Set(text.split("\n"))
  const missing = lines.filter((line) => !there.has(line))
  if (missing.length === 0) return text
  return `${text === "" || text.endsWith("\n") ? text : `${text}\n`}${missing.join("\n")}\n`
}
