/**
 * What a word of a shell script may become when the shell has expanded it: quotes and escapes removed, braces
 * expanded, variables put in. What cannot be known is marked (`marks.ts`), never guessed.
 */
import { type ParsedScript, parse, type Word, type WordPart } from "unbash"
import { expandBraces } from "#policies/command/shell/braces.ts"
import { cut, glob, hole, pipeName, quotedHole } from "#policies/command/shell/marks.ts"
import { outputsOf } from "#policies/command/shell/outputs.ts"
import { split, type Variables, valuesOf } from "#policies/command/shell/variables.ts"

/** Ways in which words may come out; what would give more counts as unknown. */
const maxWays = 32

/** All lists of words that a list of words may become. */
export const allWays = (words: ReadonlyArray<Word>, variables: Variables): ReadonlyArray<ReadonlyArray<string>> => {
  let ways: ReadonlyArray<Array<string>> = [[]]
  for (const word of words.flatMap(rawWords)) {
    const fields = textsOf(word, variables).map((text) => text.split(cut).filter((field) => field !== ""))
    const [only = []] = fields
    if (fields.length === 1 || ways.length * fields.length > maxWays) {
      const more = fields.length === 1 ? only : [hole]
      for (const way of ways) way.push(...more)
    } else ways = ways.flatMap((before) => fields.map((after) => [...before, ...after]))
  }
  return ways
}

/** The values of a word that is not split: of an assignment, of a redirection. */
export const textsOf = (word: Word, variables: Variables): ReadonlyArray<string> =>
  word.parts === undefined ? [word.value] : partsOf(word.parts, variables, false)

/** The values of text with expansions in it: a here-document. */
export const partsOf = (parts: ReadonlyArray<WordPart>, variables: Variables, quoted: boolean): ReadonlyArray<string> =>
  parts.reduce<ReadonlyArray<string>>(
    (texts, part) => {
      const values = valuesOfPart(part, variables, quoted)
      return limited(
        texts.flatMap((before) => values.map((value) => before + value)),
        [hole],
      )
    },
    [""],
  )

const rawWords = (word: Word): ReadonlyArray<Word> => {
  if (word.parts?.some((part) => part.type === "BraceExpansion") !== true) return [word]
  const texts = expandBraces(word.text)
  if (texts === undefined) return [{ ...word, parts: undefined, value: hole }]
  return texts.map((text) => {
    const [statement] = parse(`: ${text}`).commands
    const command = statement?.command
    const [only] = command?.type === "Command" ? command.suffix : []
    return only?.type === "Word" ? only : { ...word, parts: undefined, value: text }
  })
}

const valuesOfPart = (part: WordPart, variables: Variables, quoted: boolean): ReadonlyArray<string> => {
  const unknown = quoted ? quotedHole : hole
  const laidOut = (values: ReadonlyArray<string>) =>
    quoted ? values.map((value) => value.replaceAll(hole, quotedHole)) : values.map((value) => split(variables, value))
  switch (part.type) {
    case "Literal":
    case "SingleQuoted":
    case "AnsiCQuoted":
      return [part.value]
    case "DoubleQuoted":
    case "LocaleString":
      return partsOf(part.parts, variables, true)
    case "Glob":
    case "ExtendedGlob":
      return [glob]
    case "BraceExpansion":
      return [part.text]
    case "ProcessSubstitution":
      return [pipeName]
    case "ArithmeticExpansion":
      return [unknown]
    case "CommandExpansion":
      return laidOut(part.script === undefined ? [hole] : writtenBy(part.script, variables))
    case "SimpleExpansion": {
      const name = part.text.slice(1)
      const values = valuesOf(variables, name)
      // it may be any number of words, quoted or not
      return name === "@" || name === "*" ? values : laidOut(values)
    }
    case "ParameterExpansion": {
      if (part.prefix === "#") return ["0"]
      if (part.prefix === "!") return [unknown]
      const values = valuesOf(variables, part.parameter)
      const many = part.index !== undefined || part.parameter === "@" || part.parameter === "*"
      const { operation } = part
      if (operation === undefined) return many && quoted ? values : laidOut(values)
      if (operation.type !== "Default") return [many ? hole : unknown]
      return laidOut([...values, ...textsOf(operation.operand, variables)])
    }
  }
}

/** What `$(…)` gives. */
const writtenBy = (script: ParsedScript, variables: Variables): ReadonlyArray<string> => {
  const [statement, ...more] = script.commands
  const command = statement?.command
  if (more.length > 0 || command?.type !== "Command" || command.name === undefined) return [hole]
  const words = command.suffix.filter((part) => part.type === "Word")
  if (command.prefix.length > 0 || words.length !== command.suffix.length) return [hole]
  return allWays([command.name, ...words], variables).flatMap(outputsOf)
}

const limited = <A>(ways: ReadonlyArray<A>, otherwise: ReadonlyArray<A>): ReadonlyArray<A> =>
  ways.length > maxWays ? otherwise : ways
