/** Where the files are, inside of the repository. */
import type { Place } from "#plugins/memory/files/contained.ts"

const inboxFolder: Place = [".squad", "decisions", "inbox"]
const agentsFolder: Place = [".squad", "agents"]

export const places = {
  decisions: [".squad", "decisions.md"],
  inboxFolder,
  inbox: (file: string): Place => [...inboxFolder, file],
  agentsFolder,
  history: (agent: string): Place => [...agentsFolder, agent, "history.md"],
  now: [".squad", "identity", "now.md"],
  boundaries: [".svc", "context", "boundaries.md"],
  patterns: [".svc", "context", "patterns.md"],
  /** Both sides of a merge are kept. */
  attributes: [
    [
      [".squad", ".gitattributes"],
      ["decisions.md merge=union", "agents/*/history.md merge=union"],
    ],
    [[".svc", "context", ".gitattributes"], ["*.md merge=union"]],
  ] satisfies ReadonlyArray<readonly [Place, ReadonlyArray<string>]>,
} as const
