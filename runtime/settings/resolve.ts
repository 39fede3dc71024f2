/**
 * From what was written to the settings: merges by strength (file, then variables, then options of the
 * command), decodes, and gives every problem with its place. Pure: reads no file and no environment.
 */
import { dirname, resolve } from "node:path"
import { Result, Schema, SchemaIssue } from "effect"
import { SettingsSchema, type SettingsValues } from "#core/settings.ts"
import { type Entry, merge } from "#runtime/settings/entry.ts"
import { type Read, readEnvironment } from "#runtime/settings/environment.ts"
import type { Environment } from "#runtime/settings/expand.ts"
import { readFile } from "#runtime/settings/file.ts"
import { type Problem, SettingsInvalid, type Source } from "#runtime/settings/problem.ts"
import {
  type Free,
  type Names,
  pathText,
  type Section,
  type Shape,
  settingsShape,
  valueAt,
} from "#runtime/settings/shape.ts"

export interface Written {
  readonly file?: {
    /** As it is shown in messages. */
    readonly name: string
    /** Absolute. */
    readonly path: string
    readonly text: string
  }
  readonly environment: Environment
  /** From the command line; stronger than all else. */
  readonly options?: ReadonlyArray<Entry>
  /** Absolute. */
  readonly workingDirectory: string
}

export interface LoadedSettings {
  readonly values: SettingsValues
  /** Where each setting was written, by its name; a name that is not in it has its default. */
  readonly sources: ReadonlyMap<string, Source>
  /** The settings file, where there is one: an absolute path. */
  readonly file: string | undefined
}

export const resolveSettings = (written: Written): Result.Result<LoadedSettings, SettingsInvalid> => {
  const { file, environment, options = [] } = written
  const fromFile: Read =
    file === undefined ? { entries: [], problems: [] } : readFile(file.name, file.text, environment)
  const fromEnvironment = readEnvironment(environment)
  const entries = [...fromFile.entries, ...fromEnvironment.entries, ...options]
  const merged = merge(entries)

  const problems: Array<Problem> = [...fromFile.problems, ...fromEnvironment.problems]
  const input = tree(merged, problems)
  // a value that could not be read is reported once, not again as missing
  const reported = new Set(problems.map((problem) => problem.path))
  const decoded = Schema.decodeUnknownResult(SettingsSchema)(input, { errors: "all" })
  if (Result.isFailure(decoded)) {
    for (const problem of problemsOf(decoded.failure.issue, merged)) {
      if (reported.has(problem.path)) continue
      reported.add(problem.path)
      problems.push(problem)
    }
  }
  // what a stronger source hides must still be right: the source may be gone tomorrow
  for (const entry of entries) if (merged.get(pathText(entry.path)) !== entry) problems.push(...hiddenProblem(entry))
  if (Result.isFailure(decoded) || problems.length > 0) return Result.fail(SettingsInvalid.of(problems))

  const values = decoded.success
  const sources = new Map([...merged].map(([key, entry]) => [key, entry.source]))
  const base =
    file !== undefined && sources.get("Data:Directory")?.kind === "file" ? dirname(file.path) : written.workingDirectory
  return Result.succeed({
    values: { ...values, Data: { ...values.Data, Directory: resolve(base, values.Data.Directory) } },
    sources,
    file: file?.path,
  })
}

/** The entries as one nested value; a list must have all its indexes. */
const tree = (merged: ReadonlyMap<string, Entry>, problems: Array<Problem>): unknown => {
  const entries = [...merged.values()]
  const build = (depth: number, within: ReadonlyArray<Entry>, shape: Shape | undefined): unknown => {
    if (shape === undefined || shape.kind === "value") return within.at(-1)?.value
    const groups = Map.groupBy(
      within.filter((entry) => entry.path.length > depth),
      (entry) => entry.path[depth],
    )
    if (shape.kind === "list") {
      return Array.from({ length: groups.size }, (_, index) => {
        const group = groups.get(index)
        if (group !== undefined) return build(depth + 1, group, shape.entry)
        const some = within.at(-1)
        const path = pathText([...(some?.path.slice(0, depth) ?? []), index])
        problems.push({ path, source: some?.source, message: "The list has no such entry, but a later one." })
        return undefined
      })
    }
    if (shape.kind === "free" && within.every((entry) => entry.path.length === depth)) return within.at(-1)?.value
    if (shape.kind === "free" && [...groups.keys()].every((key) => typeof key === "number")) {
      return [...groups].sort(([a], [b]) => Number(a) - Number(b)).map(([, group]) => build(depth + 1, group, shape))
    }
    // fromEntries defines properties, so that `__proto__` is a key like any other
    return Object.fromEntries(
      [...groups].map(([key, group]) => [key, build(depth + 1, group, innerOf(shape, String(key)))]),
    )
  }
  return build(0, entries, settingsShape)
}

const innerOf = (shape: Section | Names | Free, key: string): Shape | undefined => {
  switch (shape.kind) {
    case "section":
      return shape.keys.get(key)
    case "names":
      return shape.value
    case "free":
      return shape
  }
}

const formatIssue = SchemaIssue.makeFormatterStandardSchemaV1()

const problemsOf = (issue: SchemaIssue.Issue, merged: ReadonlyMap<string, Entry>): ReadonlyArray<Problem> =>
  formatIssue(issue).issues.map(({ path = [], message }) => {
    // keys of settings are texts and numbers, never symbols or path segments
    const names = path.map((part) => (typeof part === "number" ? part : String(part)))
    const key = pathText(names)
    const entry = merged.get(key)
    return { path: key, source: entry?.source ?? nearestSource(key, merged), message: messageOf(message, entry) }
  })

const hiddenProblem = (entry: Entry): ReadonlyArray<Problem> => {
  const issue = valueAt(entry.path)?.issueOf(entry.value)
  const message = issue === undefined ? undefined : formatIssue(issue).issues[0]?.message
  return message === undefined
    ? []
    : [{ path: pathText(entry.path), source: entry.source, message: messageOf(message, entry) }]
}

const plainWords: ReadonlyMap<string, string> = new Map([
  ["Missing key", "This is missing"],
  ["Expected number", "Expected a number"],
  ["Expected string", "Expected a text"],
  ["Expected boolean", "Expected true or false"],
])

/** The message, with what was written where that is no secret. */
const messageOf = (message: string, entry: Entry | undefined): string => {
  const plain = plainWords.get(message) ?? message
  const hidden = entry === undefined || Array.isArray(entry.value) || (valueAt(entry.path)?.secret ?? true)
  return hidden ? `${plain}.` : `${plain}, got ${JSON.stringify(entry.value)}.`
}

/** The place of the thing around `key`: its neighbours in the same entry or section. */
const nearestSource = (key: string, merged: ReadonlyMap<string, Entry>): Source | undefined => {
  for (let around = key; around !== ""; around = around.slice(0, Math.max(0, around.lastIndexOf(":")))) {
    for (const [name, entry] of merged) if (name === around || name.startsWith(`${around}:`)) return entry.source
  }
  return undefined
}
