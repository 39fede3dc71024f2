/** A command that builds or tests a repository, and what of the repository it is found by. */

export interface BuildCommand {
  /** `install`, `build`, `test`, or as the repository names it. */
  readonly name: string
  /** For a shell, at the top of the repository. */
  readonly command: string
}

/** What the repository has at its top. */
export interface TopFiles {
  readonly names: ReadonlyArray<string>
  /** The text of a file, or undefined. */
  readonly read: (path: string) => string | undefined
}
