/** What is wrong with the settings, all of it at once, each with where it was written. */
import { Data } from "effect"

/** Where a value was written. */
export type Source =
  | { readonly kind: "file"; readonly file: string; readonly line: number }
  | { readonly kind: "environment"; readonly name: string }
  | { readonly kind: "option"; readonly name: string }

export const sourceText = (source: Source | undefined): string => {
  switch (source?.kind) {
    case undefined:
      return "default"
    case "file":
      return `${source.file}:${source.line}`
    case "environment":
      return `env ${source.name}`
    case "option":
      return source.name
  }
}

export interface Problem {
  /** The setting's name, such as `Auth:Keys:0:Token`; empty where the problem is of the file as a whole. */
  readonly path: string
  readonly source: Source | undefined
  readonly message: string
}

const rank = { file: 0, environment: 1, option: 2 } as const

const byPlace = (a: Problem, b: Problem): number => {
  const order = (a.source ? rank[a.source.kind] : 3) - (b.source ? rank[b.source.kind] : 3)
  if (order !== 0) return order
  const lines = a.source?.kind === "file" && b.source?.kind === "file" ? a.source.line - b.source.line : 0
  return lines !== 0 ? lines : a.path.localeCompare(b.path)
}

const lineOf = (problem: Problem): string =>
  [problem.source === undefined ? undefined : sourceText(problem.source), problem.path, problem.message]
    .filter((part) => part !== undefined && part !== "")
    .join(": ")

export class SettingsInvalid extends Data.TaggedError("SettingsInvalid")<{
  readonly problems: ReadonlyArray<Problem>
  readonly message: string
}> {
  static readonly of = (problems: ReadonlyArray<Problem>): SettingsInvalid => {
    const sorted = problems.toSorted(byPlace)
    const count = sorted.length === 1 ? "1 problem" : `${sorted.length} problems`
    return new SettingsInvalid({
      problems: sorted,
      message: `The settings have ${count}:\n${sorted.map((problem) => `  ${lineOf(problem)}`).join("\n")}`,
    })
  }
}
