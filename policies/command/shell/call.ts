/** One program that a script runs, with its words as far as they are known. */
import { hasHole, isKnown, mayBeOption, quotedHole } from "#policies/command/shell/marks.ts"

/** Where a program reads from. */
export type Input =
  | { readonly kind: "own" }
  /** The commands before it in the pipeline. */
  | { readonly kind: "pipe"; readonly from: ReadonlyArray<Call> }
  /** A here-document or a here-string: the texts that it may be. */
  | { readonly kind: "text"; readonly texts: ReadonlyArray<string> }

export interface Redirection {
  readonly operator: string
  readonly target: string
}

export interface Call {
  /** Its name in lower case, without folders and `.exe`; undefined where that is not known. */
  readonly program: string | undefined
  readonly words: readonly [string, ...string[]]
  readonly args: ReadonlyArray<string>
  readonly input: Input
  readonly redirections: ReadonlyArray<Redirection>
  /** By `sudo` or `doas`. */
  readonly privileged: boolean
  /** It is run for things that another program finds: by `xargs`, by `find -exec`. */
  readonly forEach: boolean
  /** Read in a way that the shell most likely does not: only what is certain counts. */
  readonly doubtful: boolean
}

/** The program that a word names. On some systems the case of a file's name does not matter. */
export const programOf = (word: string): string | undefined => {
  const name = word.slice(Math.max(word.lastIndexOf("/"), word.lastIndexOf("\\")) + 1)
  if (name === "" || !isKnown(name)) return undefined
  return name
    .toLowerCase()
    .replaceAll("^", "")
    .replace(/\.(?:exe|cmd|com)$/, "")
}

/** `unknown`: it may be there, for all that is known. */
export type Presence = "yes" | "unknown" | "no"

export interface Options {
  /** Letters, of which one is enough: `rR`. */
  readonly short?: string
  /** Long names without dashes; what begins one of them, as `--forc`, counts. */
  readonly long?: ReadonlyArray<string>
}

/** Is one of these options given? Options with letters may stand together. */
export const given = (args: ReadonlyArray<string>, { short = "", long = [] }: Options): Presence => {
  const end = args.indexOf("--")
  const options = end < 0 ? args : args.slice(0, end)
  const found = options.some((word) => {
    if (word.startsWith("--")) {
      const [name = ""] = word.slice(2).split("=")
      return name !== "" && isKnown(name) && long.some((known) => known.startsWith(name.toLowerCase()))
    }
    return /^-[^-]/.test(word) && [...word.slice(1)].some((letter) => short.includes(letter))
  })
  return found ? "yes" : options.some(mayBeOption) ? "unknown" : "no"
}

/** Words that are no options: what the program works on. */
export const operands = (args: ReadonlyArray<string>): ReadonlyArray<string> => {
  const end = args.indexOf("--")
  const before = end < 0 ? args : args.slice(0, end)
  return [...before.filter((word) => !/^-./.test(word)), ...(end < 0 ? [] : args.slice(end + 1))]
}

export const hasOperand = (args: ReadonlyArray<string>, form: RegExp): boolean =>
  operands(args).some((word) => form.test(word))

/** Only one word that is not known, and it stays one: it cannot be an option and what the option is for. */
export const isOneThing = (args: ReadonlyArray<string>): boolean =>
  args.filter((word) => hasHole(word)).length === 1 &&
  operands(args).length === 1 &&
  args.at(-1)?.startsWith(quotedHole) === true

export const both = (one: Presence, other: Presence): Presence =>
  one === "no" || other === "no" ? "no" : one === "yes" && other === "yes" ? "yes" : "unknown"

export const either = (one: Presence, other: Presence): Presence =>
  one === "yes" || other === "yes" ? "yes" : one === "no" && other === "no" ? "no" : "unknown"

export const when = (condition: boolean): Presence => (condition ? "yes" : "no")
