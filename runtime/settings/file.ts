/**
 * Settings from a YAML 1.2 or JSON file. Keys are exact and may be written with colons
 * (`Sandbox:AgentExecutionMode: in-api`). Nothing of a file is ignored: what is not a setting, is written
 * twice or cannot be read is a problem with its line.
 */
import { type Document, isAlias, isMap, isScalar, isSeq, LineCounter, type Node, type Pair, parseDocument } from "yaml"
import { coerce, type Entry } from "#runtime/settings/entry.ts"
import type { Read } from "#runtime/settings/environment.ts"
import { type Environment, expand } from "#runtime/settings/expand.ts"
import { formerNames, retired } from "#runtime/settings/names.ts"
import { suggestion } from "#runtime/settings/nearest.ts"
import type { Problem } from "#runtime/settings/problem.ts"
import {
  type Free,
  freeValue,
  type List,
  type Names,
  type Path,
  pathText,
  type Section,
  type Shape,
  settingsShape,
  type Value,
} from "#runtime/settings/shape.ts"

/** Characters of a settings file. */
const maxLength = 1_048_576
/** Nodes that are read: an alias that multiplies itself ends here. */
const maxNodes = 5_000

type YamlNode = Node | Pair | null | undefined

export const readFile = (file: string, text: string, environment: Environment): Read => {
  if (text.length > maxLength) {
    const source = { kind: "file", file, line: 1 } as const
    return { entries: [], problems: [{ path: "", source, message: "The file is larger than 1 MiB." }] }
  }
  const lines = new LineCounter()
  // keys that are written twice are found below, where their names are known
  const document = parseDocument(text, {
    version: "1.2",
    schema: "core",
    uniqueKeys: false,
    lineCounter: lines,
    prettyErrors: false,
  })
  const problems: Array<Problem> = [...document.errors, ...document.warnings].map((error) => ({
    path: "",
    source: { kind: "file", file, line: lines.linePos(error.pos[0]).line },
    message: `This is not valid YAML: ${error.message.trim()}`,
  }))
  // what follows a syntax error is not what was meant: its complaints would only distract
  if (problems.length > 0) return { entries: [], problems }

  const walk = makeWalk(file, document, lines, environment, problems)
  walk.visit(document.contents, settingsShape, [])
  return { entries: walk.entries, problems }
}

const isEmpty = (node: YamlNode): boolean =>
  node === null || node === undefined || (isScalar(node) && node.value === null)

const makeWalk = (
  file: string,
  document: Document.Parsed,
  lines: LineCounter,
  environment: Environment,
  problems: Array<Problem>,
) => {
  const entries: Array<Entry> = []
  const firstLine = new Map<string, number>()
  let visited = 0

  const lineOf = (node: YamlNode): number => {
    const offset = node !== null && node !== undefined && "range" in node ? node.range?.[0] : undefined
    return offset === undefined ? 1 : lines.linePos(offset).line
  }
  const sourceOf = (node: YamlNode) => ({ kind: "file", file, line: lineOf(node) }) as const
  const refuse = (node: YamlNode, path: Path, message: string): void => {
    problems.push({ path: pathText(path), source: sourceOf(node), message })
  }

  const visit = (written: YamlNode, shape: Shape, path: Path): void => {
    if (visited++ === maxNodes) refuse(written, path, `The file has more than ${maxNodes} values.`)
    if (visited > maxNodes) return
    const node = isAlias(written) ? written.resolve(document) : written
    // a key without a value is as if it were not there
    if (isEmpty(node)) return
    if (shape.kind === "section") visitSection(node, shape, path)
    else if (shape.kind === "list") visitList(node, shape, path)
    else if (shape.kind === "names") visitNames(node, shape, path)
    else if (shape.kind === "free") visitFree(node, shape, path)
    else visitValue(node, shape, path)
  }

  const keysOf = (node: YamlNode, path: Path): ReadonlyArray<readonly [key: string, at: Node, value: YamlNode]> => {
    if (!isMap(node)) {
      refuse(node, path, "Expected keys with values here.")
      return []
    }
    const seen = new Map<string, number>()
    return node.items.flatMap((pair) => {
      const key = isScalar(pair.key) ? pair.key : undefined
      if (key === undefined || typeof key.value !== "string") {
        refuse(key ?? node, path, "Expected a name as the key.")
        return []
      }
      const line = seen.get(key.value)
      if (line !== undefined) {
        refuse(key, [...path, key.value], `This key is written on line ${line} already.`)
        return []
      }
      seen.set(key.value, lineOf(key))
      // the parser gives nodes here; only documents built by hand hold plain values
      return [[key.value, key, pair.value as YamlNode] as const]
    })
  }

  const visitSection = (node: YamlNode, shape: Section, path: Path): void => {
    for (const [key, at, value] of keysOf(node, path)) {
      const found = descend(key, shape, path)
      if (found !== undefined) visit(value, found.shape, found.path)
      else refuse(at, [...path, key], retired.get(pathText([...path, key])) ?? unknown(key, shape, path))
    }
  }

  const visitList = (node: YamlNode, shape: List, path: Path): void => {
    if (!isSeq(node)) {
      refuse(node, path, "Expected a list.")
      return
    }
    if (repeated(node, path)) return
    entries.push({ path, value: [], source: sourceOf(node) })
    node.items.forEach((item, index) => {
      const entry = item as YamlNode // the parser gives nodes here, as above
      if (isEmpty(entry)) refuse(entry ?? node, [...path, index], "This entry is empty.")
      else visit(entry, shape.entry, [...path, index])
    })
  }

  const visitNames = (node: YamlNode, shape: Names, path: Path): void => {
    for (const [key, , value] of keysOf(node, path)) visit(value, shape.value, [...path, key])
  }

  /** Names and lists as they are; a text stays a text, also where it came from a variable. */
  const visitFree = (node: YamlNode, shape: Free, path: Path): void => {
    if (isMap(node)) for (const [key, , value] of keysOf(node, path)) visit(value, shape, [...path, key])
    else if (isSeq(node)) visitList(node, { kind: "list", description: shape.description, entry: shape }, path)
    else visitValue(node, freeValue, path)
  }

  const visitValue = (node: YamlNode, shape: Value, path: Path): void => {
    if (!isScalar(node)) {
      refuse(node, path, "Expected a single value.")
      return
    }
    if (repeated(node, path)) return
    const { value, source: text } = node
    if (typeof value === "string") {
      const expanded = expand(value, environment)
      for (const name of expanded.missing) refuse(node, path, `The variable ${name} is not set.`)
      for (const part of expanded.malformed)
        refuse(node, path, `Cannot read ${part}; write \${NAME} or \${NAME:-default}, or $\${ for a plain \${.`)
      if (expanded.missing.length > 0 || expanded.malformed.length > 0) return
      // an empty variable with an empty default: as if the key were not there
      if (expanded.changed && expanded.text === "") return
      const coerced = expanded.changed ? coerce(expanded.text, shape.type) : expanded.text
      entries.push({ path, value: coerced, source: sourceOf(node) })
    } else if (typeof value === "number" || typeof value === "boolean") {
      // a name such as 007 or true, written without quotes
      const asText = shape.type === "text" && shape !== freeValue
      entries.push({ path, value: asText ? (text ?? String(value)) : value, source: sourceOf(node) })
    } else {
      refuse(node, path, "Expected a text, a number, true or false.")
    }
  }

  /** The same setting once nested and once with colons: the parser does not see that as the same key. */
  const repeated = (node: YamlNode, path: Path): boolean => {
    const key = pathText(path)
    const line = firstLine.get(key)
    if (line !== undefined) refuse(node, path, `This is set on line ${line} already.`)
    firstLine.set(key, line ?? lineOf(node))
    return line !== undefined
  }

  return { entries, visit }
}

/** The shape behind `key`, which may name several sections at once (`Sandbox:Preview`). */
const descend = (key: string, section: Section, path: Path): { shape: Shape; path: Path } | undefined => {
  let shape: Shape = section
  let at = path
  for (const part of key.split(":")) {
    const name = formerNames.get(part) ?? part
    const inner: Shape | undefined = shape.kind === "section" ? shape.keys.get(name) : undefined
    if (inner === undefined) return undefined
    shape = inner
    at = [...at, name]
  }
  return { shape, path: at }
}

const unknown = (key: string, section: Section, path: Path): string => {
  const parts = key.split(":")
  // up to the part that is not known
  for (let known = parts.length - 1; known > 0; known--) {
    const found = descend(parts.slice(0, known).join(":"), section, path)
    if (found?.shape.kind === "section") {
      return `There is no such setting.${suggestion(parts[known] ?? "", found.shape, found.path)}`
    }
  }
  return `There is no such setting.${suggestion(parts[0] ?? key, section, path)}`
}
