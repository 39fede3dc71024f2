/** Shows every effective setting with where it comes from. Secrets are only said to be set or not. */
import { Redacted } from "effect"
import { redact } from "#core/redaction.ts"
import { sourceText } from "#runtime/settings/problem.ts"
import type { LoadedSettings } from "#runtime/settings/resolve.ts"
import { type Path, pathText, type Shape, settingsShape } from "#runtime/settings/shape.ts"

export interface Shown {
  readonly name: string
  /** Null where nothing is set and there is no default. */
  readonly value: string | number | boolean | ReadonlyArray<never> | null
  readonly source: string
  readonly description: string
}

export const redactedMark = "[redacted]"

export const showSettings = ({ values, sources }: LoadedSettings): ReadonlyArray<Shown> => {
  const show = (value: unknown, shape: Shape, path: Path): ReadonlyArray<Shown> => {
    const name = pathText(path)
    const here = { name, source: sourceText(sources.get(name)), description: shape.description }
    if (shape.kind === "section") {
      return [...shape.keys].flatMap(([key, inner]) => show(field(value, key), inner, [...path, key]))
    }
    if (shape.kind === "list") {
      if (!Array.isArray(value) || value.length === 0) return [{ ...here, value: [] }]
      return value.flatMap((entry: unknown, index) => show(entry, shape.entry, [...path, index]))
    }
    if (shape.kind === "free") {
      if (typeof value !== "object" || value === null) return [{ ...here, value: redactedMark }]
      return Object.entries(value).flatMap(([key, inner]) => show(inner, shape, [...path, key]))
    }
    if (shape.kind === "names") {
      if (typeof value !== "object" || value === null) return [{ ...here, value: null }]
      return Object.entries(value).flatMap(([key, inner]) => show(inner, shape.value, [...path, key]))
    }
    return [{ ...here, value: shown(value, shape.secret) }]
  }
  return show(values, settingsShape, [])
}

const field = (value: unknown, key: string): unknown =>
  typeof value === "object" && value !== null ? Reflect.get(value, key) : undefined

const shown = (value: unknown, secret: boolean): Shown["value"] => {
  if (value === undefined) return null
  if (secret || Redacted.isRedacted(value)) return redactedMark
  if (typeof value === "number" || typeof value === "boolean") return value
  // an address may carry a password
  return redact(String(value))
}

export const settingsTable = (rows: ReadonlyArray<Shown>): string => {
  const cells = rows.map(({ name, value, source }) => [name, valueText(value), source] as const)
  const widths = [0, 1].map((column) => Math.max(...cells.map((row) => row[column]?.length ?? 0)))
  return cells
    .map(([name, value, source]) => `${name.padEnd(widths[0] ?? 0)}  ${value.padEnd(widths[1] ?? 0)}  ${source}`)
    .join("\n")
}

const valueText = (value: Shown["value"]): string =>
  value === null ? "(not set)" : Array.isArray(value) ? "(none)" : typeof value === "string" ? value : String(value)
