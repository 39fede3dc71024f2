/**
 * Reads a shell script: every program that it runs, however deep: in pipelines, groups, functions, substitutions,
 * here-documents, and in the texts that it gives to other shells. Nothing is run.
 */
import { type Command, forEachChild, type ParsedScript, parse, type Redirection, type SyntaxNode } from "unbash"
import type { Call, Input } from "#policies/command/shell/call.ts"
import { cut, hasHole, hole, isKnown } from "#policies/command/shell/marks.ts"
import {
  isTooMuch,
  newReading,
  ownInput,
  type Place,
  plain,
  type Reading,
  shortened,
  tellUnreadable,
  topOf,
} from "#policies/command/shell/reading.ts"
import { run } from "#policies/command/shell/run.ts"
import { assign } from "#policies/command/shell/variables.ts"
import { allWays, partsOf, textsOf } from "#policies/command/shell/words.ts"

/** Everything that the command runs. */
export const readCommand = (command: string): Reading => {
  const reading = newReading({ readScript, walk })
  readScript(command, reading, topOf(command))
  return reading
}

const readScript = (text: string, reading: Reading, place: Place): void => {
  reading.characters += text.length
  if (isTooMuch(reading, place)) return
  if (hasHole(text)) tellUnreadable(reading, place, `not all of "${shortened(text)}" is known before it runs`)
  walk(parse(text), reading, { ...place, source: text, depth: place.depth + 1 })
}

const walk = (node: SyntaxNode, reading: Reading, place: Place): void => {
  const children = (there: Place) => forEachChild(node, (child) => walk(child, reading, there))
  switch (node.type) {
    case "Script":
      return void walkScript(node, reading, place)
    case "Command":
      return void walkCommand(node, reading, place)
    case "Pipeline": {
      const before = reading.calls.length
      const firsts: Array<string> = []
      node.commands.forEach((command, index) => {
        const from = reading.calls.length
        const input: Input = index === 0 ? place.input : { kind: "pipe", from: reading.calls.slice(before) }
        walk(command, reading, { ...place, input })
        firsts.push(plain(reading.calls[from]))
      })
      reading.lines.push(firsts.join(" | "))
      return
    }
    case "For":
    case "Select": {
      const values = node.wordlist === undefined ? [[hole]] : allWays(node.wordlist, place.variables)
      assign(place.variables, textsOf(node.name, place.variables)[0] ?? "", values.flat())
      return void children(place)
    }
    case "Function":
      reading.functions.set(node.name.value, node.body)
      if (runsItselfAside(node.name.value, node.body)) {
        tellUnreadable(reading, place, "a function starts itself again and again")
      }
      return void children(place)
    case "Redirected":
      note(node.redirects, reading, place)
      return void children({ ...place, input: inputOf(node.redirects, place) })
    // a plain shell takes these for groups of commands
    case "ArithmeticCommand":
      readScript(node.body, reading, { ...place, doubtful: true })
      return void children(place)
    case "TestCommand":
      readScript(place.source.slice(node.pos, node.end).replace(/^\[\[|\]\]$/g, ""), reading, {
        ...place,
        doubtful: true,
      })
      return void children(place)
    case "CommandExpansion":
    case "ProcessSubstitution":
      return void children({ ...place, input: ownInput })
    default:
      return void children(place)
  }
}

const walkScript = (script: ParsedScript, reading: Reading, place: Place): void => {
  const [error] = script.errors ?? []
  if (error !== undefined) tellUnreadable(reading, place, `it cannot be read: ${error.message}`)
  const there = script.source === undefined ? place : { ...place, source: script.source }
  for (const command of script.commands) walk(command, reading, there)
}

const walkCommand = (command: Command, reading: Reading, place: Place): void => {
  const { variables } = place
  for (const part of [...command.prefix, ...command.suffix]) {
    if (part.type === "Assignment") walkAssignment(part, reading, place)
  }
  const words = command.suffix.filter((part) => part.type === "Word")
  const redirections = note(command.redirects, reading, place)
  const input = inputOf(command.redirects, place)
  if (command.name !== undefined) {
    for (const way of allWays([command.name, ...words], variables)) {
      const [name, ...args] = way
      if (name === undefined) continue
      run([name, ...args, ...assignmentWords(command)], reading, { ...place, input }, redirections)
    }
  }
  forEachChild(command, (child) => walk(child, reading, { ...place, input: ownInput }))
}

/** `alias x=y` and `env a=b` have words that look like assignments. */
const assignmentWords = (command: Command): ReadonlyArray<string> =>
  command.suffix.flatMap((part) => (part.type === "Assignment" ? [part.text] : []))

/** Variables that programs run as commands. */
const commandVariables =
  /^(?:PROMPT_COMMAND|BASH_ENV|ENV|GIT_(?:SSH_COMMAND|SSH|EDITOR|PAGER|EXTERNAL_DIFF|ASKPASS|SEQUENCE_EDITOR|PROXY_COMMAND)|EDITOR|VISUAL|PAGER|MANPAGER|LESSOPEN|SSH_ASKPASS|BROWSER|RSYNC_RSH|TAR_OPTIONS)$/

const walkAssignment = (
  assignment: Extract<Command["prefix"][number], { type: "Assignment" }>,
  reading: Reading,
  { variables, ...place }: Place,
): void => {
  const values =
    assignment.value.type === "Word"
      ? textsOf(assignment.value, variables)
      : allWays(assignment.value.elements, variables).map((way) => way.join(cut))
  assign(variables, assignment.name, values, assignment.append === true)
  if (commandVariables.test(assignment.name)) {
    for (const value of values.filter(isKnown)) readScript(value, reading, { ...place, variables, doubtful: true })
  }
}

/** What is redirected, as a call of its own as well. */
const note = (redirects: ReadonlyArray<Redirection>, reading: Reading, place: Place): Call["redirections"] => {
  const list = redirects.flatMap((redirect) =>
    redirect.type === "Redirect" && redirect.target !== undefined
      ? textsOf(redirect.target, place.variables).map((target) => ({ operator: redirect.operator, target }))
      : [],
  )
  // those of a group belong to no program
  if (list.length > 0) {
    const { input, privileged, forEach, doubtful } = place
    reading.calls.push({
      program: ">",
      words: [">", ...list.map(({ target }) => target)],
      args: [],
      input,
      redirections: list,
      privileged,
      forEach,
      doubtful,
    })
  }
  return list
}

const inputOf = (redirects: ReadonlyArray<Redirection>, place: Place): Input =>
  redirects.reduce<Input>((input, redirect) => {
    if (redirect.type === "HereString") {
      return redirect.target === undefined ? input : { kind: "text", texts: textsOf(redirect.target, place.variables) }
    }
    if (redirect.type === "HereDoc") {
      const { parts, text } = redirect.body
      return { kind: "text", texts: parts === undefined ? [text] : partsOf(parts, place.variables, true) }
    }
    return redirect.operator === "<" ? ownInput : input
  }, place.input)

/** A function that calls itself in the background or in a pipeline: it never ends. */
const runsItselfAside = (name: string, body: SyntaxNode): boolean => {
  let found = false
  const look = (node: SyntaxNode, aside: boolean): void => {
    if (node.type === "Command" && aside && node.name?.value === name) found = true
    const inside = aside || node.type === "Pipeline" || (node.type === "Statement" && node.background === true)
    forEachChild(node, (child) => look(child, inside))
  }
  look(body, false)
  return found
}
