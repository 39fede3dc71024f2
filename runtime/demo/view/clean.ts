/** Texts of agents, models and repositories, made fit for a terminal: nothing in them can move its cursor. */

const unseen = /[\p{Cc}\p{Cf}\p{Cs}\u2028\u2029]/gu

/** One line, of at most so many characters. */
export const lineOf = (text: string, most = 160): string => {
  const line = [...text.replaceAll(unseen, " ").replace(/\s+/g, " ").trim()]
  return line.length <= most ? line.join("") : `${line.slice(0, most - 1).join("")}…`
}

/** Its lines, with their indentation. */
export const linesOf = (text: string): ReadonlyArray<string> =>
  text.split(/\r?\n/).map((line) => line.replaceAll("\t", "  ").replaceAll(unseen, " "))
