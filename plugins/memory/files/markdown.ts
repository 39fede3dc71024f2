/**
 * Text inside of Markdown that is read back: a line that would look like the structure around it is written with a
 * backslash before it. Nothing is lost, and nothing that is stored can forge a heading, a rule or an entry. Pure.
 */

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

/** `key: "value"`: JSON text is YAML too, whatever is in it. */
export const frontMatter = (values: Readonly<Record<string, string>>): string =>
  `---\n${Object.entries(values)
    .map(([key, value]) => `${key}: ${JSON.stringify(value)}\n`)
    .join("")}---\n`
