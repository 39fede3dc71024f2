/** A program as it is started for a command: by itself it does whatever confines the command. */
export interface Program {
  readonly file: string
  readonly args: ReadonlyArray<string>
  readonly environment: Readonly<Record<string, string>>
  readonly workingDirectory: string
  /** It writes `ready` to descriptor 3 when the command begins, and before that what went wrong. */
  readonly saysReady: boolean
  /** Can be read at descriptors 4, 5, and so on. */
  readonly handed?: ReadonlyArray<string>
  /** Only root can start a program as somebody else. */
  readonly owner?: { readonly uid: number; readonly gid: number }
}

/** Longest command in bytes: Linux takes no longer argument. */
export const maxCommandBytes = 131_071

/**
 * The script of process 1, when nothing is left to be gained: it sets the variables that `variablesFor` named, and
 * runs the command. It waits for it, and for what is orphaned; when it ends, all ends.
 */
export const lastScript = `
set -- "$SVC_COMMAND" "$SVC_NAMES"
unset PATH LC_ALL SVC_COMMAND SVC_NAMES SVC_LAST
for __svc_name in $2; do
  eval "export $__svc_name=\\$SVC_SET_$__svc_name"
  unset "SVC_SET_$__svc_name"
done
unset __svc_name
/bin/sh -c "$1"
exit $?`

/** What `lastScript` reads. Until then no variable has a name that means anything to a program. */
export const variablesFor = (
  command: string,
  environment: Readonly<Record<string, string>>,
): Readonly<Record<string, string>> => ({
  SVC_COMMAND: command,
  SVC_NAMES: Object.keys(environment).join(" "),
  ...Object.fromEntries(Object.entries(environment).map(([name, value]) => [`SVC_SET_${name}`, value])),
})

/** Those that the script itself needs when it sets the others are no names. */
const variableName = /^(?!__svc_)[A-Za-z_][A-Za-z0-9_]*$/

/** What a command finds in its environment, besides what it is given. */
export const commandEnvironment = (
  path: string,
  home: string,
  given: Readonly<Record<string, string>>,
): Readonly<Record<string, string>> => ({
  PATH: path,
  HOME: home,
  TMPDIR: "/tmp",
  USER: "svc",
  LOGNAME: "svc",
  SHELL: "/bin/sh",
  LANG: "C.UTF-8",
  TERM: "dumb",
  CI: "1",
  ...Object.fromEntries(
    Object.entries(given).filter(([name, value]) => variableName.test(name) && !value.includes("\0")),
  ),
})
