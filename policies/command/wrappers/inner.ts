/** What a program runs in its turn. */
import type { Call } from "#policies/command/shell/call.ts"

export type Inner =
  /** A program with its words. */
  | {
      readonly kind: "words"
      readonly words: ReadonlyArray<string>
      readonly privileged?: boolean
      readonly forEach?: boolean
      /** True where it is not certain that these words are run. */
      readonly doubtful?: boolean
    }
  /** A script of the shell. `positions` are its `$0`, `$1`, … */
  | {
      readonly kind: "script"
      readonly text: string
      readonly positions?: ReadonlyArray<string>
      readonly doubtful?: boolean
    }
  /** A program text of another language. */
  | { readonly kind: "code"; readonly text: string }
  | { readonly kind: "powershell"; readonly text: string }
  /** Something that was not read. */
  | { readonly kind: "unread"; readonly why: string }

/** What a call runs in its turn; empty where it runs nothing. */
export type Unwrap = (call: Call) => ReadonlyArray<Inner>

export const words = (list: ReadonlyArray<string>): Inner => ({ kind: "words", words: list })
export const script = (text: string): Inner => ({ kind: "script", text })

/** Places in a list of words where a program may begin, that are looked at. */
export const maxRests = 200

/** Every rest of the list may be a program with its words. */
export const anyRest = (list: ReadonlyArray<string>): ReadonlyArray<Inner> => [
  ...list.slice(0, maxRests).map((_, index): Inner => ({ kind: "words", words: list.slice(index), doubtful: true })),
  ...(list.length > maxRests ? [tooMany] : []),
]

export const tooMany: Inner = { kind: "unread", why: "it has more words than are looked at" }

/** The value of an option, in its own word or in the next: `-c text`, `--command=text`. */
export const valuesAfter = (args: ReadonlyArray<string>, names: ReadonlyArray<string>): ReadonlyArray<string> =>
  args.flatMap((word, index) => {
    if (names.includes(word)) return [args[index + 1] ?? ""]
    const long = names.find((name) => name.startsWith("--") && word.startsWith(`${name}=`))
    return long === undefined ? [] : [word.slice(long.length + 1)]
  })
