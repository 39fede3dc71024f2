/** The contract of the decomposition: what is asked, and the items of the answer as far as they can be used. */
import { Option, Schema } from "effect"
import type { Adjustment } from "#runtime/coordinator/change.ts"
import { jsonIn } from "#runtime/coordinator/model/json-in.ts"
import { envelope } from "#runtime/coordinator/model/prompt.ts"
import type { CoordinatorState, RosterMember, Subtask } from "#runtime/coordinator/state.ts"

/** Subtasks of one plan. */
export const maxSubtasks = 20
const maxTitle = 200
const maxScope = 8_000
const maxRole = 64
const maxCharter = 20_000

export const decomposeQuestion = ({ spec, run, roster }: Pick<CoordinatorState, "spec" | "run" | "roster">): string =>
  envelope({
    goal: run.goal,
    outcome: spec?.desiredOutcome ?? run.goal,
    scope: spec?.scope ?? "",
    assumptions: spec?.assumptions ?? "",
    team: roster.map(({ agent, role }) => ({ name: agent, role })),
  })

/** An item as it is taken. `item` is its place in the answer, `dependsOn` are places, both from 1. */
export interface PlannedItem
  extends Pick<Subtask, "title" | "scope" | "role" | "charter" | "complexity" | "phase" | "isolation"> {
  readonly item: number
  readonly assignedAgent: string
  readonly selectedModelId: string
  readonly dependsOn: ReadonlyArray<number>
}

export interface Decomposition {
  readonly items: ReadonlyArray<PlannedItem>
  readonly adjustments: ReadonlyArray<Adjustment>
}

const Item = Schema.Struct({
  title: Schema.String,
  scope: Schema.optionalKey(Schema.NullOr(Schema.String)),
  role: Schema.optionalKey(Schema.NullOr(Schema.String)),
  charter: Schema.optionalKey(Schema.NullOr(Schema.String)),
  complexity: Schema.optionalKey(Schema.Unknown),
  phase: Schema.optionalKey(Schema.Unknown),
  isolation: Schema.optionalKey(Schema.Unknown),
  depends_on: Schema.optionalKey(Schema.Unknown),
})
const decodeItem = Schema.decodeUnknownOption(Item)

/** Undefined: there is not one usable subtask in it. */
export const decompositionIn = (answer: string, roster: ReadonlyArray<RosterMember>): Decomposition | undefined => {
  const found = jsonIn(answer, "[")
  if (!Array.isArray(found)) return undefined
  const adjustments: Array<Adjustment> = []
  const adjust = (item: number | null, reason: string, detail?: string) =>
    void adjustments.push({ item, reason, ...(detail === undefined ? {} : { detail: detail.slice(0, maxTitle) }) })
  if (found.length > maxSubtasks) adjust(null, "too_many_subtasks", `${found.length} of at most ${maxSubtasks}`)

  const zeroBased = found.some((each) => wanted(each).includes(0))
  if (zeroBased) adjust(null, "dependencies_counted_from_zero")
  const items = found.slice(0, maxSubtasks).flatMap((raw: unknown, index): ReadonlyArray<PlannedItem> => {
    const item = index + 1
    const decoded = decodeItem(raw)
    if (Option.isNone(decoded)) {
      adjust(item, "not_a_subtask")
      return []
    }
    const { title, scope, complexity, phase, isolation } = decoded.value
    if (title.trim() === "") {
      adjust(item, "no_title")
      return []
    }
    return [
      {
        item,
        title: title.trim().slice(0, maxTitle),
        scope: (scope ?? "").trim().slice(0, maxScope),
        ...memberFor(decoded.value, roster, (reason, detail) => adjust(item, reason, detail)),
        complexity: oneOf(complexity, ["medium", "low", "high"]),
        phase: oneOf(phase, ["execution", "none", "planning", "validation"]),
        isolation: oneOf(isolation, ["worktree", "shared"]),
        dependsOn: wanted(raw).map((place) => (zeroBased ? place + 1 : place)),
      },
    ]
  })
  if (items.length === 0) return undefined
  return { items: withoutCycles(items, found.length, adjust), adjustments }
}

/** The places that an item says it depends on, as they stand there. */
const wanted = (raw: unknown): ReadonlyArray<number> => {
  if (typeof raw !== "object" || raw === null || !("depends_on" in raw) || !Array.isArray(raw.depends_on)) return []
  const places = raw.depends_on.map((place: unknown) => (typeof place === "string" ? Number(place) : place))
  return [...new Set(places.filter((place): place is number => Number.isInteger(place)))]
}

/** The first of these where the model wrote none of them. */
const oneOf = <A extends string>(value: unknown, choices: readonly [A, ...A[]]): A =>
  choices.find((choice) => choice === value) ?? choices[0]

const slug = (text: string): string => text.trim().toLowerCase().replace(/\s+/g, "-").slice(0, maxRole)

/** Who does it: a member with the role (or the name), somebody with the charter that was written, or the first. */
const memberFor = (
  { role, charter }: typeof Item.Type,
  roster: ReadonlyArray<RosterMember>,
  adjust: (reason: string, detail?: string) => void,
) => {
  const named = slug(role ?? "")
  const own = (charter ?? "").trim().slice(0, maxCharter)
  const member = roster.find((each) => slug(each.role) === named) ?? roster.find((each) => slug(each.agent) === named)
  const [first] = roster
  if (member === undefined && named !== "" && (own !== "" || first === undefined)) {
    return {
      role: named,
      assignedAgent: named,
      selectedModelId: first?.modelId ?? "",
      charter: own === "" ? null : own,
    }
  }
  if (member !== undefined && own !== "") adjust("charter_of_a_known_role", named)
  if (member === undefined) adjust("unknown_role", named)
  const chosen = member ?? first
  return {
    role: chosen?.role ?? "agent",
    assignedAgent: chosen?.agent ?? "agent",
    selectedModelId: chosen?.modelId ?? "",
    charter: null,
  }
}

/** Only dependencies on other items that are there, and none that closes a circle. */
const withoutCycles = (
  items: ReadonlyArray<PlannedItem>,
  answered: number,
  adjust: (item: number, reason: string, detail: string) => void,
): ReadonlyArray<PlannedItem> => {
  const needs = new Map<number, Array<number>>(items.map(({ item }) => [item, []]))
  const reaches = (from: number, to: number): boolean =>
    from === to || (needs.get(from) ?? []).some((next) => reaches(next, to))
  const refused = (item: number, place: number): string | undefined => {
    if (place === item) return "depends_on_itself"
    if (!needs.has(place)) return place >= 1 && place <= answered ? "dependency_dropped" : "unknown_dependency"
    return reaches(place, item) ? "circle_of_dependencies" : undefined
  }
  for (const { item, dependsOn } of items) {
    for (const place of dependsOn) {
      const reason = refused(item, place)
      if (reason === undefined) needs.get(item)?.push(place)
      else adjust(item, reason, String(place))
    }
  }
  return items.map((each) => ({ ...each, dependsOn: needs.get(each.item) ?? [] }))
}
