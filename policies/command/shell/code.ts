/**
 * Shell commands in a program text of another language: its strings, alone and in lists, and the calls by
 * which well-known libraries delete trees. The language itself is not read.
 */
export interface CodeTexts {
  readonly commands: ReadonlyArray<ReadonlyArray<string>>
  readonly scripts: ReadonlyArray<string>
}

/** Calls that delete a folder with all that is in it. */
const treeDeletes =
  /\b(?:shutil\s*\.\s*rmtree|rmtree\s*\(|rmSync\s*\([^)]*recursive|\brm\s*\([^)]*recursive\s*:\s*true|rmdirSync\s*\([^)]*recursive|rimraf|remove_tree|rm_rf?\b|remove_entry|FileUtils\s*\.\s*rm|fs-extra.*remove|emptyDirSync|Deno\s*\.\s*remove\w*\([^)]*recursive)/s

/** Quoted in one of the usual ways, or as Perl and Ruby write a command: `qx(…)`, `%x{…}`. */
const strings = /"((?:[^"\\]|\\.)*)"|'((?:[^'\\]|\\.)*)'|`((?:[^`\\]|\\.)*)`|(?:\bqx?|%x)\s*[({[/|]([^)}\]/|]*)/gs

export const codeTexts = (text: string): CodeTexts => {
  const found = [...text.matchAll(strings)].map((match) => ({
    value: unescaped(match[1] ?? match[2] ?? match[3] ?? match[4] ?? ""),
    start: match.index,
    end: match.index + match[0].length,
  }))
  const lists = found.reduce<Array<Array<(typeof found)[number]>>>((soFar, next) => {
    const last = soFar.at(-1)
    const previous = last?.at(-1)
    const between = previous === undefined ? "" : text.slice(previous.end, next.start)
    if (last !== undefined && /^[\s,[\]()]+$/.test(between)) last.push(next)
    else if (last !== undefined && previous !== undefined && /^\s*[+.]?\s*$/.test(between)) {
      // two strings that are put together
      last[last.length - 1] = { ...previous, value: previous.value + next.value, end: next.end }
    } else soFar.push([next])
    return soFar
  }, [])
  return {
    commands: [
      ...lists.filter((list) => list.length > 1).map((list) => list.map(({ value }) => value)),
      ...deleted(text),
    ],
    scripts: lists.flat().flatMap(({ value }) => (/\s/.test(value) ? [value] : [])),
  }
}

/** As the command of the shell that does the same. */
const deleted = (text: string): ReadonlyArray<ReadonlyArray<string>> =>
  treeDeletes.test(text) ? [["rm", "-rf", "--", "/"]] : []

const unescaped = (value: string): string =>
  value.replace(/\\(?:x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|(.))/gs, (_, two, four, other) => {
    if (other !== undefined) return other === "n" ? "\n" : other === "t" ? "\t" : other
    return String.fromCharCode(Number.parseInt(two ?? four, 16))
  })
