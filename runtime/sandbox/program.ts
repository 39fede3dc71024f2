/** A program as it is started for a command: by itself it does whatever confines the command. */
export interface Program {
  readonly file: string
  readonly args: ReadonlyArray<string>
  readonly environment: Readonly<Record<string, string>>
  readonly workingDirectory: string
  /** It writes `ready` to descriptor 3 when the command begins, and before that what went wrong. */
  readonly saysReady: boolean
  /** Only root can start a program as somebody else. */
  readonly owner?: { readonly uid: number; readonly gid: number }
}

/** Longest command in bytes: Linux takes no longer argument. */
export const maxCommandBytes = 131_071

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
