/**
 * Settings from environment variables: `Sandbox__AgentExecutionMode`, entries of lists as
 * `Auth__Keys__0__Token`, lists of plain values also as `Server__AllowedHosts=a,b`. Names match without
 * regard to case. Only a variable whose first part is a section counts; an empty one counts as not set.
 */
import { coerce, type Entry } from "#runtime/settings/entry.ts"
import type { Environment } from "#runtime/settings/expand.ts"
import { formerNames, retired, specialNames } from "#runtime/settings/names.ts"
import { suggestion } from "#runtime/settings/nearest.ts"
import type { Problem, Source } from "#runtime/settings/problem.ts"
import { type Path, pathText, type Section, type Shape, settingsShape } from "#runtime/settings/shape.ts"

export interface Read {
  readonly entries: ReadonlyArray<Entry>
  readonly problems: ReadonlyArray<Problem>
}

/** Lists set by index have fewer entries than this. */
const maxIndex = 999

export const readEnvironment = (environment: Environment): Read => {
  const set = Object.entries(environment).flatMap(([name, value]) =>
    value === undefined || value === "" ? [] : [[name, value] as const],
  )
  const special = set.flatMap(([name, value]) => {
    const stands = specialNames.get(name)
    return stands === undefined ? [] : [readVariable({ kind: "environment", name }, stands.split("__"), value)]
  })
  const sections = set.flatMap(([name, value]) => {
    const parts = name.split("__")
    const first = parts[0]
    if (parts.length < 2 || first === undefined || keyOf(settingsShape, first) === undefined) return []
    return [readVariable({ kind: "environment", name }, parts, value)]
  })
  const all = [...special, ...sections]
  const entries = all.flatMap((read) => read.entries)
  return { entries, problems: [...all.flatMap((read) => read.problems), ...twice(sections)] }
}

/** The key that a part of a variable's name means, in any case. */
const keyOf = (section: Section, written: string): readonly [string, Shape] | undefined => {
  const lower = written.toLowerCase()
  const renamed = [...formerNames].find(([former]) => former.toLowerCase() === lower)
  const wanted = renamed?.[1].toLowerCase() ?? lower
  for (const [key, shape] of section.keys) if (key.toLowerCase() === wanted) return [key, shape]
  return undefined
}

const readVariable = (source: Source, parts: ReadonlyArray<string>, value: string): Read => {
  const refuse = (path: Path, message: string): Read => ({
    entries: [],
    problems: [{ path: pathText(path), source, message }],
  })
  const step = (shape: Shape, path: Path, rest: ReadonlyArray<string>): Read => {
    const [part, ...after] = rest
    switch (shape.kind) {
      case "section": {
        if (part === undefined) return refuse(path, "This is a section; name one of its settings.")
        const found = keyOf(shape, part)
        if (found === undefined) {
          const gone = retired.get(pathText([...path, part]))
          return refuse([...path, part], gone ?? `There is no such setting.${suggestion(part, shape, path)}`)
        }
        return step(found[1], [...path, found[0]], after)
      }
      case "names":
        if (part === undefined || part === "") return refuse(path, "Name one of its entries, such as …__NAME.")
        return step(shape.value, [...path, part], after)
      case "list": {
        if (part === undefined) return readWholeList(shape.entry, path)
        const index = /^\d{1,4}$/.test(part) ? Number(part) : Number.NaN
        if (!(index <= maxIndex)) {
          return refuse([...path, part], `Expected the index of an entry, from 0 to ${maxIndex}.`)
        }
        return step(shape.entry, [...path, index], after)
      }
      case "free": {
        const names = rest.map((name) => (/^\d{1,3}$/.test(name) ? Number(name) : name))
        return { entries: [{ path: [...path, ...names], value: plain(value), source }], problems: [] }
      }
      case "value":
        if (part !== undefined) return refuse([...path, part], `${pathText(path)} is a single value.`)
        return { entries: [{ path, value: coerce(value, shape.type), source }], problems: [] }
    }
  }
  const readWholeList = (entry: Shape, path: Path): Read => {
    if (entry.kind !== "value") return refuse(path, "Expected an index after the name, such as …__0__….")
    const values = value.split(",").flatMap((text) => (text.trim() === "" ? [] : [text.trim()]))
    return {
      entries: [
        { path, value: [], source },
        ...values.map((text, index) => ({ path: [...path, index], value: coerce(text, entry.type), source })),
      ],
      problems: [],
    }
  }
  return step(settingsShape, [], parts)
}

/** Where no type is known: a number or a flag where it is written as one, else a text. */
const plain = (value: string): string | number | boolean => {
  const number = coerce(value, "number")
  return value === "true" || value === "false" ? value === "true" : number
}

/** Two variables of one setting, which differ in their case only: which of them counts would be chance. */
const twice = (reads: ReadonlyArray<Read>): ReadonlyArray<Problem> => {
  const seen = new Map<string, Source>()
  return reads.flatMap((read) =>
    read.entries.flatMap(({ path, source }) => {
      const key = pathText(path)
      const other = seen.get(key)
      seen.set(key, source)
      return other !== undefined && other !== source
        ? [{ path: key, source, message: "Another variable sets this as well, in other letters." }]
        : []
    }),
  )
}
