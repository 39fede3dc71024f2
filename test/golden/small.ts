/**
 * A log with small numbers: what differs from one recording to the next, and means nothing, becomes the same. Ids keep
 * their order; times count from the first one, in whole minutes; a diff and the name of a machine are left out.
 */
import type { Line } from "#test/golden/log.ts"

export const smallNumbers = (lines: ReadonlyArray<Line>): ReadonlyArray<Line> => {
  const idsSeen = new Set<number>()
  const timesSeen = new Set<number>()
  walk(lines, (key, value) => {
    if (isId(key, value)) idsSeen.add(value)
    if (isTime(value)) timesSeen.add(timeOf(value))
    return value
  })
  const ranks = new Map([...idsSeen].sort((a, b) => a - b).map((id, index) => [id, index + 1]))
  const rankOf = (id: number) => ranks.get(id) ?? id
  const first = Math.min(...timesSeen)
  const sinceFirst = (time: number) => Math.floor((time - first) / minute) * minute
  const names = makeNames()
  const repository = lines[0]?._tag === "Began" ? lines[0].state.run.repository : null
  return walk(lines, (key, value) => {
    if (isId(key, value)) return rankOf(value)
    if (key === "executionPodName") return null
    if (key === "projectId" && value !== null) return "project"
    if (key === "diff") return ""
    if (typeof value === "number" && isTime(value)) return sinceFirst(value)
    if (typeof value !== "string") return value
    if (isTime(value)) return new Date(sinceFirst(timeOf(value))).toISOString()
    if (repository !== null && value === repository) return "/repository"
    // `{work plan}-{gate}-{round}`
    if (key === "gateId") return value.replace(/^\d+/, (id) => String(rankOf(Number(id))))
    return names(value, key === "requestId" ? "question" : "run")
  })
}

const minute = 60_000

const idKeys: ReadonlySet<string> = new Set([
  ...["specId", "outcomeSpecId", "workPlanId", "directiveId", "subtaskId", "dependsOnSubtaskId", "subtaskIds"],
  ...["implicatedSubtaskIds", "dependentSubtaskIds", "contributorIds", "targets", "revised", "included", "blocked"],
  ...["unblocked", "order", "base"],
])

const isId = (key: string, value: unknown): value is number => idKeys.has(key) && typeof value === "number"

/** Milliseconds since 1970 of this century, or ISO 8601. */
const isTime = (value: unknown): boolean =>
  typeof value === "number"
    ? value > 1e12 && value < 1e13
    : typeof value === "string" && /^\d{4}-\d\d-\d\dT[\d:.]+Z$/.test(value)

const timeOf = (value: unknown): number => (typeof value === "number" ? value : Date.parse(String(value)))

/** `run-1`, `question-1` and `hash-1` for ids and hashes of git, wherever they are in a text. */
const makeNames = () => {
  const known = new Map<string, string>()
  const counts = { run: 0, question: 0, hash: 0 }
  const nameOf = (found: string, kind: keyof typeof counts): string => {
    const name = known.get(found) ?? `${kind}-${++counts[kind]}`
    known.set(found, name)
    return name
  }
  return (text: string, kind: "run" | "question") =>
    text
      .replace(/[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, (id) => nameOf(id, kind))
      .replace(/\b[0-9a-f]{40}\b/g, (hash) => nameOf(hash, "hash"))
}

/** Every value that has no members, with the key that it is under; names of members are treated as values too. */
const walk = <A>(value: A, change: (key: string, value: unknown) => unknown, key = ""): A => {
  const walked = Array.isArray(value)
    ? value.map((each) => walk(each, change, key))
    : typeof value === "object" && value !== null
      ? Object.fromEntries(Object.entries(value).map(([name, each]) => [change("", name), walk(each, change, name)]))
      : change(key, value)
  // of the same shape: a number stays a number, a text a text
  return walked as A
}
