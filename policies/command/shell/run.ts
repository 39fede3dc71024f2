/** One program of a script: what its call is, what it changes for those after it, and what it runs in its turn. */
import { type Call, programOf } from "#policies/command/shell/call.ts"
import { codeTexts } from "#policies/command/shell/code.ts"
import { hasHole, hole } from "#policies/command/shell/marks.ts"
import {
  isTooMuch,
  type Place,
  plain,
  type Reading,
  shortened,
  tellUnreadable,
} from "#policies/command/shell/reading.ts"
import { assign, assignPositions, copyOf } from "#policies/command/shell/variables.ts"
import type { Inner } from "#policies/command/wrappers/inner.ts"
import { unwrap } from "#policies/command/wrappers/unwrap.ts"
import { powershellCommands } from "#policies/command/wrappers/windows.ts"

/** One program with its words, and what it runs in its turn. */
export const run = (
  words: readonly [string, ...string[]],
  reading: Reading,
  place: Place,
  redirections: Call["redirections"] = [],
): void => {
  if (isTooMuch(reading, place)) return
  const [first, ...args] = words
  const { input, privileged, forEach, doubtful } = place
  const program = programOf(first)
  const call: Call = { program, words, args, input, redirections, privileged, forEach, doubtful }
  reading.calls.push(call)
  reading.words += words.length
  reading.lines.push(plain(call))
  if (program === undefined) {
    return void tellUnreadable(reading, place, `which program "${shortened(first)}" is, is not known before it runs`)
  }
  define(call, reading, place)
  const deeper = { ...place, depth: place.depth + 1 }
  const alias = reading.aliases.get(program)
  if (alias !== undefined && alias[0] !== undefined) {
    reading.aliases.delete(program)
    run([alias[0], ...alias.slice(1), ...args], reading, deeper)
    reading.aliases.set(program, alias)
  }
  const body = reading.functions.get(program)
  if (body !== undefined && (input.kind !== "own" || args.length > 0)) {
    reading.functions.delete(program)
    const variables = copyOf(place.variables)
    assignPositions(variables, args)
    reading.walk(body, reading, { ...deeper, variables })
    reading.functions.set(program, body)
  }
  for (const inner of unwrap(call)) runInner(inner, reading, deeper)
}

const runInner = (inner: Inner, reading: Reading, place: Place): void => {
  const there = { ...place, doubtful: place.doubtful || ("doubtful" in inner && inner.doubtful === true) }
  switch (inner.kind) {
    case "words": {
      const [first, ...rest] = inner.words
      if (first === undefined) return
      const privileged = place.privileged || inner.privileged === true
      return void run([first, ...rest], reading, {
        ...there,
        privileged,
        forEach: place.forEach || inner.forEach === true,
      })
    }
    case "script": {
      const variables = copyOf(place.variables)
      if (inner.positions !== undefined) {
        const [name, ...positions] = inner.positions
        if (name !== undefined) assign(variables, "0", [name])
        assignPositions(variables, positions)
      }
      return void reading.readScript(inner.text, reading, { ...there, variables })
    }
    case "unread":
      return void reading.unreadable.add(inner.why)
    case "powershell":
      if (inner.text === "" || hasHole(inner.text)) {
        tellUnreadable(reading, place, "the text for PowerShell is not known before it runs")
      }
      for (const [first, ...rest] of powershellCommands(inner.text)) {
        if (first !== undefined) run([first, ...rest], reading, { ...there, doubtful: true })
      }
      return
    case "code": {
      if (hasHole(inner.text)) tellUnreadable(reading, place, "the program text is not known before it runs")
      const found = codeTexts(inner.text)
      for (const [first, ...rest] of found.commands) {
        if (first !== undefined) run([first, ...rest], reading, { ...there, doubtful: true })
      }
      for (const text of found.scripts) reading.readScript(text, reading, { ...there, doubtful: true })
    }
  }
}

/** What a builtin changes for the commands after it. */
const define = ({ program, args }: Call, reading: Reading, { variables }: Place): void => {
  if (program === "alias") {
    for (const word of args) {
      const [, name, value] = /^([^=]+)=(.*)$/s.exec(word) ?? []
      const words =
        value
          ?.replace(/["'\\]/g, "")
          .split(/\s+/)
          .filter((part) => part !== "") ?? []
      if (name !== undefined && words.length > 0) reading.aliases.set(name.toLowerCase(), words)
    }
  }
  if (program === "set") assignPositions(variables, args[0] === "--" ? args.slice(1) : args)
  if (program === "read" || program === "mapfile" || program === "readarray") {
    for (const name of args) if (/^[A-Za-z_]\w*$/.test(name)) assign(variables, name, [hole])
  }
  if (program === "printf" && args[0] === "-v" && args[1] !== undefined) assign(variables, args[1], [hole])
}
