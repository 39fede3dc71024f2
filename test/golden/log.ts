/**
 * The golden log of an orchestration: everything from which its coordinator decided, and what it decided, a line each.
 * The state is nowhere but at the beginning: whoever reads the log folds it, as the service does.
 */
import { readdirSync, readFileSync, writeFileSync } from "node:fs"
import type { SteeringAsk } from "#policies/steering/model.ts"
import type { Action } from "#runtime/coordinator/action.ts"
import type { Change } from "#runtime/coordinator/change.ts"
import { evolve } from "#runtime/coordinator/evolve.ts"
import type { Limits } from "#runtime/coordinator/limits.ts"
import type { ChildView, CoordinatorRun, CoordinatorState } from "#runtime/coordinator/state.ts"

export type Line =
  | { readonly _tag: "Began"; readonly state: CoordinatorState }
  /** What had moved on outside of the plan: members that are other than before. */
  | {
      readonly _tag: "Saw"
      readonly run?: Partial<CoordinatorRun>
      readonly limits?: Partial<Limits>
      readonly children?: Readonly<Record<string, Partial<ChildView>>>
    }
  /** The driver before was lost. */
  | { readonly _tag: "TakenOver" }
  /** `next` of the state that `when` sums up, at `now` (milliseconds since the run began, in whole minutes). */
  | {
      readonly _tag: "Decided"
      readonly when: string
      readonly now: number
      readonly actions: ReadonlyArray<Action>
    }
  /** What `steering.decide` was asked; the `SteeringDecided` that follows has its answer. */
  | { readonly _tag: "Asked"; readonly directiveId: number; readonly question: SteeringAsk }
  | { readonly _tag: "Wrote"; readonly by: "coordinator" | "person"; readonly change: Change }
  /** What all of it came to. */
  | { readonly _tag: "Ended"; readonly state: CoordinatorState }

export type LineOf<Tag extends Line["_tag"]> = Extract<Line, { readonly _tag: Tag }>

/** The state after a line; a change that does not fit throws. */
export const folded = (state: CoordinatorState, line: Line): CoordinatorState => {
  switch (line._tag) {
    case "Began":
      return line.state
    case "Saw":
      return {
        ...state,
        run: { ...state.run, ...line.run },
        limits: { ...state.limits, ...line.limits },
        children: { ...state.children, ...merged(state.children, line.children ?? {}) },
      }
    case "Wrote":
      return evolve(state, line.change)
    case "TakenOver":
    case "Decided":
    case "Asked":
    case "Ended":
      return state
  }
}

const merged = (
  known: CoordinatorState["children"],
  seen: Readonly<Record<string, Partial<ChildView>>>,
): CoordinatorState["children"] =>
  Object.fromEntries(
    Object.entries(seen).map(([runId, view]) => [
      runId,
      // a child that was not known is seen with all of its members
      { ...known[runId], ...view } as ChildView,
    ]),
  )

const folder = new URL("./logs/", import.meta.url)

const suffix = ".jsonl"

export const logNames = (): ReadonlyArray<string> =>
  readdirSync(folder)
    .filter((name) => name.endsWith(suffix))
    .map((name) => name.slice(0, -suffix.length))
    .sort()

/** As it is in a file: without members that are undefined, and nothing but plain values. */
export const plain = (value: unknown): unknown => JSON.parse(JSON.stringify(value ?? null))

export const textOf = (lines: ReadonlyArray<Line>): string =>
  `${lines.map((line) => JSON.stringify(line)).join("\n")}\n`

export const readText = (name: string): string => readFileSync(new URL(`${name}${suffix}`, folder), "utf8")

/** Only `record.ts` writes these files: a line of another shape would decide otherwise, and be shown. */
export const readLog = (name: string): ReadonlyArray<Line> =>
  readText(name)
    .trimEnd()
    .split("\n")
    .map((line): Line => JSON.parse(line))

export const writeLog = (name: string, lines: ReadonlyArray<Line>): void =>
  writeFileSync(new URL(`${name}${suffix}`, folder), textOf(lines))
