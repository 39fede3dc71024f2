/** What was found while a script is read: the programs that it runs, and what of it cannot be read. */
import type { CompoundCommand, CompoundList, Redirected, SyntaxNode } from "unbash"
import type { Call, Input } from "#policies/command/shell/call.ts"
import { readable } from "#policies/command/shell/marks.ts"
import { newVariables, type Variables } from "#policies/command/shell/variables.ts"

/** Programs and inner scripts that one command may hold; one with more is not read to its end. */
const maxCalls = 1_000
/** Words of all of them together. */
const maxWords = 80_000
/** Characters of all inner scripts together. */
const maxCharacters = 2_000_000
/** Programs and scripts inside of each other: `sudo sh -c "sh -c …"` are three. */
const maxDepth = 40

export interface Reading {
  readonly calls: Array<Call>
  words: number
  characters: number
  /** Commands and pipelines as plain text, without quotes. */
  readonly lines: Array<string>
  /** Why not all of it is known, for people. */
  readonly unreadable: Set<string>
  readonly functions: Map<string, CompoundCommand | Redirected | CompoundList>
  readonly aliases: Map<string, ReadonlyArray<string>>
  /** Reads an inner script into this reading. */
  readonly readScript: (text: string, reading: Reading, place: Place) => void
  /** Reads a part of the script again: the body of a function, as it is called. */
  readonly walk: (node: SyntaxNode, reading: Reading, place: Place) => void
}

/** Where in the script something is. */
export interface Place {
  readonly source: string
  readonly variables: Variables
  readonly input: Input
  readonly privileged: boolean
  readonly forEach: boolean
  readonly doubtful: boolean
  readonly depth: number
}

export const newReading = (read: Pick<Reading, "readScript" | "walk">): Reading => ({
  ...read,
  calls: [],
  words: 0,
  characters: 0,
  lines: [],
  unreadable: new Set(),
  functions: new Map(),
  aliases: new Map(),
})

export const ownInput: Input = { kind: "own" }

export const topOf = (source: string): Place => ({
  source,
  variables: newVariables(),
  input: ownInput,
  privileged: false,
  forEach: false,
  doubtful: false,
  depth: 0,
})

/** Is there more in it than is read? Then it is told so. */
export const isTooMuch = (reading: Reading, place: Place): boolean => {
  const { calls, words, characters } = reading
  const much = calls.length > maxCalls || words > maxWords || characters > maxCharacters || place.depth > maxDepth
  // also where the reading is doubtful: what was not read may be anything
  if (much) reading.unreadable.add("it holds more commands, or more of them inside of each other, than are looked at")
  return much
}

/** Nothing that is only unknown counts where the reading itself is doubtful. */
export const tellUnreadable = (reading: Reading, place: Place, why: string): void => {
  if (!place.doubtful) reading.unreadable.add(why)
}

export const plain = (call: Call | undefined): string => call?.words.map(readable).join(" ") ?? ""

/** Characters of a text that a reason shows. */
const shown = 60
export const shortened = (text: string): string => {
  const line = readable(text).replace(/\s+/g, " ")
  return line.length > shown ? `${line.slice(0, shown)}…` : line
}
