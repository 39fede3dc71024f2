/**
 * Text inside of Markdown that is read back: a line that would look like the structure around it is written with a
 * backslash before it. Nothing is lost, and nothing that is stored can forge a heading, a rule or an entry. Pure.
 */
import { createHash } from "node:crypto"

const structural = /^\\*(?:#|---|\*\*|>|<!--)/
const structuralEscaped = /^\\+(?:#|---|\*\*|>|<!--)/
const backslashes = /^\\+$/

export const escapeBlock = (text: string): string => {
  const lines = text.split("\n")
  return lines
    .map((line, index) => {
      const edge = index === 0 || index === lines.length - 1
      return structural.test(line) || backslashes.test(line) || (edge && line === "") ? `\\${line}` : line
    })
    .join("\n")
}

export const unescapeBlock = (text: string): string =>
  text
    .split("\n")
    .map((line) => (structuralEscaped.test(line) || backslashes.test(line) ? line.slice(1) : line))
    .join("\n")

/** Lines of a block without the empty ones around it. */
export const blockOf = (lines: ReadonlyArray<string>): string => {
  const first = lines.findIndex((line) => line !== "")
  const last = lines.findLastIndex((line) => line !== "")
  return first < 0 ? "" : unescapeBlock(lines.slice(first, last + 1).join("\n"))
}

/** The lines, cut before each that begins a section. What stands before the first is left out. */
export const sectionsOf = (text: string, heading: RegExp): ReadonlyArray<ReadonlyArray<string>> => {
  const sections: Array<Array<string>> = []
  for (const line of text.replaceAll("\r\n", "\n").split("\n")) {
    if (heading.test(line)) sections.push([line])
    else sections.at(-1)?.push(line)
  }
  return sections
}

/**
 * Stands behind the lines of the structure, and after each text, so that these lines are like no others, unless all of
 * the entry is: where two branches add entries, git keeps one of equal lines, and mixes what stands around them.
 */
export const markOf = (...parts: ReadonlyArray<string | null>): string =>
  `<!-- ${createHash("sha256").update(JSON.stringify(parts)).digest("hex").slice(0, 12)} -->`

const mark = /(?:^| )(<!-- [0-9a-f]{12} -->)\s*$/
const onlyMark = /^<!-- [0-9a-f]{12} -->\s*$/

/** The line without its mark; one that a person wrote has none. */
export const unmarked = (line: string): string => line.replace(mark, "")

/** The lines without those that are marks. Undefined where a merge has mixed them with those of another entry. */
export const unmarkedSection = ([heading = "", ...lines]: ReadonlyArray<string>): ReadonlyArray<string> | undefined => {
  const own = mark.exec(heading)?.[1]
  const marks = lines.filter((line) => onlyMark.test(line)).map((line) => line.trim())
  const whole = own === undefined ? marks.length === 0 : marks.length > 0 && marks.every((each) => each === own)
  return whole ? [unmarked(heading), ...lines.filter((line) => !onlyMark.test(line))] : undefined
}

/** `key: "value"`: JSON text is YAML too, whatever is in it. */
export const frontMatter = (values: Readonly<Record<string, string>>): string =>
  `---\n${Object.entries(values)
    .map(([key, value]) => `${key}: ${JSON.stringify(value)}\n`)
    .join("")}---\n`
