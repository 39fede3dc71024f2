/**
 * Programs that run the program which their arguments name: `sudo`, `env`, `timeout 5`. What each of their
 * options takes has to be known; behind one that is not, every word may be the program.
 */
import { hasHole, hole } from "#policies/command/shell/marks.ts"
import { anyRest, type Inner, type Unwrap, words } from "#policies/command/wrappers/inner.ts"

interface Prefix {
  /** Short options with a value: letters. */
  readonly values?: string
  /** Short options without one. */
  readonly flags?: string
  readonly longFlags?: ReadonlyArray<string>
  /** Long options with a value in the next word. */
  readonly longValues?: ReadonlyArray<string>
  /** Words between the options and the program. */
  readonly skip?: number
  readonly assignments?: boolean
  readonly privileged?: boolean
  readonly forEach?: boolean
  /** `script`: the rest is text for a shell. */
  readonly rest?: "script"
}

const timeout: Prefix = {
  values: "ks",
  flags: "v",
  longFlags: ["preserve-status", "foreground", "verbose"],
  longValues: ["kill-after", "signal"],
  skip: 1,
}

const prefixes: Readonly<Record<string, Prefix>> = {
  sudo: {
    values: "ughpCrtTUDRc",
    flags: "nEHiSAbPkKsv",
    longFlags: ["non-interactive", "preserve-env", "login", "stdin", "set-home", "background"],
    longValues: ["user", "group", "host", "prompt", "close-from", "role", "type", "chdir", "chroot", "other-user"],
    assignments: true,
    privileged: true,
  },
  doas: { values: "uC", flags: "nLs", privileged: true },
  pkexec: { longValues: ["user"], privileged: true },
  run0: { longValues: ["user", "group", "chdir", "setenv", "unit", "property"], privileged: true },
  env: {
    values: "uC",
    flags: "i0v",
    longFlags: ["ignore-environment", "null", "debug"],
    longValues: ["unset", "chdir"],
    assignments: true,
  },
  nohup: {},
  setsid: { flags: "cfw" },
  time: { values: "fo", flags: "apvqV", longValues: ["format", "output"] },
  nice: { values: "n", flags: "0123456789", longValues: ["adjustment"] },
  ionice: { values: "cntp", longValues: ["class", "classdata"] },
  chrt: { values: "TPDp", skip: 1 },
  taskset: { skip: 1 },
  stdbuf: { values: "ioe", longValues: ["input", "output", "error"] },
  timeout,
  gtimeout: timeout,
  builtin: {},
  exec: { values: "a", flags: "cl" },
  xargs: {
    values: "IniPLsdEa",
    flags: "0rtpxo",
    longFlags: ["null", "no-run-if-empty", "verbose", "interactive", "exit", "open-tty"],
    longValues: ["replace", "max-args", "max-procs", "max-lines", "max-chars", "delimiter", "eof", "arg-file"],
    forEach: true,
  },
  watch: { values: "nq", flags: "bcdeghptwxC", longValues: ["interval", "equexit"], rest: "script" },
  strace: { values: "oeEpsuPaSbX" },
  ltrace: { values: "oeEpsunaAlx" },
  chroot: { longValues: ["userspec", "groups"], skip: 1 },
  unshare: { values: "SGRw" },
  nsenter: { values: "tSG" },
  setpriv: { longValues: ["reuid", "regid", "groups", "bounding-set", "inh-caps", "ambient-caps", "securebits"] },
  prlimit: { values: "p" },
  cpulimit: { values: "lpe" },
  unbuffer: {},
  caffeinate: { values: "tw" },
  busybox: {},
  toybox: {},
  sshpass: { values: "fdpP" },
  proxychains: { values: "f" },
  proxychains4: { values: "f" },
  entr: {},
  command: { flags: "p" },
  winpty: {},
  start: {},
}

const isAssignment = (word: string): boolean => /^[A-Za-z_]\w*\+?=/.test(word)

/** Looking a program up is not running it: `command -v rm`. */
const looksUp = (program: string, word: string): boolean => program === "command" && /^-[pvV]*[vV]/.test(word)

export const prefix: Unwrap = ({ program = "", args }) => {
  const found = Object.hasOwn(prefixes, program) ? prefixes[program] : undefined
  if (found === undefined) return []
  const inner: Array<Inner> = []
  let certain = true
  let at = 0
  for (; at < args.length; at++) {
    const word = args[at] ?? ""
    if (word === "--") {
      at++
      break
    }
    if (found.assignments === true && isAssignment(word)) continue
    if (!word.startsWith("-") || (word === "-" && program !== "env")) break
    if (looksUp(program, word)) return []
    if (program === "env" && /^(?:-[^-]*S|--s)/.test(word)) return [...inner, ...splitString(args.slice(at))]
    const next = optionOf(found, word)
    if (next === "unknown") certain = false
    if (next === "value") at++
  }
  const rest = withInput(program, args.slice(0, at), args.slice(Math.min(at + (found.skip ?? 0), args.length)))
  if (rest.length === 0) return inner
  const marks = {
    ...(found.privileged === true ? { privileged: true } : {}),
    ...(found.forEach === true ? { forEach: true } : {}),
  }
  const run: Inner =
    found.rest === "script" ? { kind: "script", text: rest.join(" ") } : { kind: "words", words: rest, ...marks }
  const others = certain ? [] : anyRest(rest.slice(1)).map((other) => ({ ...other, ...marks }))
  return [...inner, run, ...others]
}

/** `xargs` puts what it reads behind the words, or in the place of `{}`: nobody knows it before. */
const withInput = (
  program: string,
  options: ReadonlyArray<string>,
  rest: ReadonlyArray<string>,
): ReadonlyArray<string> => {
  if (program !== "xargs" || rest.length === 0) return rest
  const at = options.findIndex((word) => /^-[^-]*[Ii]/.test(word))
  if (at < 0) return [...rest, hole]
  const token = /^-[^-]*[Ii](.+)$/.exec(options[at] ?? "")?.[1] ?? options[at + 1] ?? "{}"
  return rest.map((word) => word.replaceAll(token, hole))
}

/** Does the value stand in the option's own word, in the next, or is the option not known? */
const optionOf = (found: Prefix, word: string): "own" | "value" | "unknown" => {
  if (hasHole(word)) return "unknown"
  if (word.startsWith("--")) {
    if (word.includes("=")) return "own"
    if (found.longFlags?.some((name) => name.startsWith(word.slice(2))) === true) return "own"
    return found.longValues?.some((name) => name.startsWith(word.slice(2))) === true ? "value" : "unknown"
  }
  const letters = [...word.slice(1)]
  const first = letters.findIndex((letter) => found.values?.includes(letter) === true)
  if (first >= 0) return first === letters.length - 1 ? "value" : "own"
  return letters.every((letter) => found.flags?.includes(letter) === true) ? "own" : "unknown"
}

/** `env -S 'rm -rf x'`: the value is split into words, and the others follow. */
const splitString = ([option = "", ...rest]: ReadonlyArray<string>): ReadonlyArray<Inner> => {
  const own = option.startsWith("--") ? option.split("=").slice(1).join("=") : option.replace(/^-[^S]*S/, "")
  const all = own === "" ? rest : [own, ...rest]
  return [{ kind: "script", text: `env ${all.join(" ")}` }, words(["env", ...all.flatMap((word) => word.split(/\s+/))])]
}
