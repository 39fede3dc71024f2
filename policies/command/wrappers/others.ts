/** Programs that run others in ways of their own: `find -exec`, `su -c`, `ssh`, containers, `tar`, `awk`. */
import { outputsOf } from "#policies/command/shell/outputs.ts"
import { git } from "#policies/command/wrappers/git.ts"
import {
  anyRest,
  type Inner,
  maxRests,
  script,
  tooMany,
  type Unwrap,
  valuesAfter,
} from "#policies/command/wrappers/inner.ts"

/** `su -c text`, `script -qc text`; a word behind `--` is a program with its words. */
const commandOption: Unwrap = ({ args }) => {
  const short = args.filter((word) => /^-[a-zA-Z]*c$/.test(word))
  const end = args.indexOf("--")
  return [
    ...valuesAfter(args, [...short, "--command", "--session-command"]).map(script),
    ...(end < 0 ? [] : anyRest(args.slice(end + 1))),
  ]
}

const found: Unwrap = ({ args }) =>
  args.flatMap((word, index): ReadonlyArray<Inner> => {
    if (!/^-(?:exec|execdir|ok|okdir)$/.test(word)) return []
    const rest = args.slice(index + 1)
    const end = rest.findIndex((part) => part === ";" || part === "+")
    return [{ kind: "words", words: end < 0 ? rest : rest.slice(0, end), forEach: true }]
  })

const fd: Unwrap = ({ args }) => {
  const at = args.findIndex((word) => /^(?:-[xX]|--exec|--exec-batch)$/.test(word))
  return at < 0 ? [] : [{ kind: "words", words: args.slice(at + 1), forEach: true }]
}

const lock: Unwrap = ({ args }) => {
  const texts = valuesAfter(args, ["-c", "--command"])
  return texts.length > 0 ? texts.map(script) : anyRest(args)
}

/** Everything that is left as text for a shell: what follows the host, and every single word of it. */
const texts: Unwrap = ({ args }) => [
  ...args.slice(0, maxRests).map(
    (word, index): Inner => ({
      kind: "script",
      text: /\s/.test(word) ? word : args.slice(index).join(" "),
      doubtful: true,
    }),
  ),
  ...(args.length > maxRests ? [tooMany] : []),
]

const container: Unwrap = ({ args }) =>
  ["exec", "run", "compose", "container"].includes(args.find((word) => !word.startsWith("-")) ?? "")
    ? anyRest(args)
    : []

/** Programs that run another, in ways of which each has its own; and those that do so behind `run` or `exec`. */
const runners = [
  ...["systemd-run", "firejail", "bwrap", "perf", "valgrind", "gdb", "chronic", "retry", "xvfb-run", "torsocks"],
  ...["dbus-run-session", "faketime", "fakeroot", "numactl", "catchsegv", "flatpak-spawn", "wsl"],
  ...["start-process", "saps"],
]
const projectRunners = [
  ...["poetry", "uv", "pipenv", "bundle", "direnv", "mise", "asdf", "nix", "guix", "devbox", "conda", "rye", "hatch"],
]

const runner: Unwrap = ({ args }) => anyRest(args)
const projectRunner: Unwrap = ({ args }) => {
  const at = args.findIndex((word) => /^(?:run|exec|shell|x)$/.test(word))
  return at < 0 ? [] : anyRest(args.slice(at + 1))
}

/** What comes in is a script for later. */
const later: Unwrap = ({ input }) => {
  if (input.kind === "text") return input.texts.map(script)
  if (input.kind !== "pipe") return []
  const [from, ...more] = input.from
  return from === undefined || more.length > 0 ? [] : outputsOf([from.program ?? "", ...from.args]).map(script)
}

const archive: Unwrap = ({ args }) =>
  [
    ...valuesAfter(args, ["--to-command", "--use-compress-program", "-I", "--rsh-command", "--info-script", "-F"]),
    ...valuesAfter(args, ["--checkpoint-action"]).map((action) => action.replace(/^exec=/, "")),
  ].map(script)

/** Options whose value a program gives to a shell. */
const withOption =
  (...names: ReadonlyArray<string>): Unwrap =>
  ({ args }) =>
    valuesAfter(args, names).map(script)

/** `vim -c '!rm x'`, `vim '+!rm x'`. */
const editor: Unwrap = ({ args }) =>
  [...valuesAfter(args, ["-c", "--cmd"]), ...args.flatMap((word) => (word.startsWith("+") ? [word.slice(1)] : []))]
    .map((command) => /^:?\s*!(.+)$/.exec(command)?.[1])
    .filter((text) => text !== undefined)
    .map(script)

const npm: Unwrap = ({ program, args }) => {
  const isRun = program === "npx" || program === "bunx" || ["exec", "x", "dlx"].includes(args[0] ?? "")
  if (!isRun) return []
  return [...valuesAfter(args, ["-c", "--call"]).map(script), ...anyRest(args)]
}

export const otherWrappers: Readonly<Record<string, Unwrap>> = {
  ...Object.fromEntries(runners.map((name) => [name, runner])),
  ...Object.fromEntries(projectRunners.map((name) => [name, projectRunner])),
  at: later,
  batch: later,
  crontab: later,
  git,
  find: found,
  gfind: found,
  fd,
  fdfind: fd,
  su: commandOption,
  runuser: commandOption,
  script: commandOption,
  sg: commandOption,
  flock: lock,
  parallel: texts,
  mosh: texts,
  ssh: texts,
  hyperfine: texts,
  concurrently: texts,
  nodemon: texts,
  tmux: texts,
  screen: texts,
  docker: container,
  podman: container,
  nerdctl: container,
  kubectl: container,
  ctr: container,
  tar: archive,
  gtar: archive,
  bsdtar: archive,
  "nix-shell": withOption("--run", "--command"),
  vagrant: withOption("-c", "--command"),
  rsync: withOption("-e", "--rsh"),
  man: withOption("-P", "--pager"),
  rg: withOption("--pre"),
  ...Object.fromEntries(["vim", "vi", "nvim", "ex", "view"].map((name) => [name, editor])),
  npm,
  npx: npm,
  pnpm: npm,
  yarn: npm,
  bunx: npm,
}
