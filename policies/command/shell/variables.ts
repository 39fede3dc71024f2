/**
 * What the variables of a script may hold, as far as the script itself says. Every value that is assigned
 * anywhere counts: which branch is taken is not looked at.
 */
import { cut, hole } from "#policies/command/shell/marks.ts"

/** Values of one variable that are kept; with more it counts as unknown. */
const maxValues = 16

export interface Variables {
  readonly values: Map<string, ReadonlyArray<string>>
}

/** Known enough without an assignment: paths, numbers and the shell itself. None can be an option. */
const surroundings: Readonly<Record<string, string>> = {
  HOME: "/home/agent",
  PWD: "/checkout",
  OLDPWD: "/checkout",
  TMPDIR: "/tmp",
  USER: "agent",
  LOGNAME: "agent",
  HOSTNAME: "host",
  SHELL: "/bin/sh",
  BASH: "/bin/bash",
  IFS: " \t\n",
  "0": "sh",
  "?": "0",
  $: "1",
  "!": "1",
  "#": "0",
  UID: "0",
  EUID: "0",
  PPID: "1",
  RANDOM: "1",
  LINENO: "1",
  SECONDS: "1",
}

export const newVariables = (): Variables => ({ values: new Map() })

/** As an inner shell begins: with what is known, and changes of its own. */
export const copyOf = (variables: Variables): Variables => ({ values: new Map(variables.values) })

export const valuesOf = (variables: Variables, name: string): ReadonlyArray<string> =>
  variables.values.get(name) ?? (Object.hasOwn(surroundings, name) ? [surroundings[name] ?? hole] : [hole])

export const assign = (
  variables: Variables,
  name: string,
  values: ReadonlyArray<string>,
  append: boolean = false,
): void => {
  const before = variables.values.get(name) ?? []
  const added = append
    ? (before.length === 0 ? [""] : before).flatMap((old) => values.map((more) => old + more))
    : values
  const all = [...new Set([...before, ...added])]
  variables.values.set(name, all.length > maxValues ? [hole] : all)
}

/** `$1`, `$2`, … and `$@`. */
export const assignPositions = (variables: Variables, words: ReadonlyArray<string>): void => {
  words.forEach((word, index) => {
    assign(variables, String(index + 1), [word])
  })
  for (const all of ["@", "*"]) assign(variables, all, [words.join(cut)])
}

/** The value as it is where it stands without quotes: split at white space, and where `IFS` says. */
export const split = (variables: Variables, value: string): string => {
  const separators = new Set([...valuesOf(variables, "IFS").join(""), ..." \t\n"])
  return [...value].map((character) => (separators.has(character) ? cut : character)).join("")
}
