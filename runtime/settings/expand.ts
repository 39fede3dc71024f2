/**
 * `${NAME}` and `${NAME:-default}` in the values of a settings file; `$${` stands for `${` itself.
 * A default is plain text: nothing in it is expanded, and it ends at the first `}`.
 */

export type Environment = Readonly<Record<string, string | undefined>>

export interface Expanded {
  readonly text: string
  /** A variable, or its default, is part of the text. */
  readonly changed: boolean
  /** Variables that are not set, or empty, and have no default. */
  readonly missing: ReadonlyArray<string>
  /** What starts with `${` but is no reference. */
  readonly malformed: ReadonlyArray<string>
}

const reference = /\$(\$)?\{([^}]*)(\}?)/g
const form = /^([A-Za-z_][A-Za-z0-9_]*)(?::-([\s\S]*))?$/

export const expand = (written: string, environment: Environment): Expanded => {
  const missing: Array<string> = []
  const malformed: Array<string> = []
  let changed = false
  const text = written.replace(reference, (whole, escaped: string | undefined, inner: string, close: string) => {
    if (escaped !== undefined) return whole.slice(1)
    const [, name, fallback] = (close === "" ? null : form.exec(inner)) ?? []
    if (name === undefined) {
      malformed.push(whole)
      return whole
    }
    changed = true
    const value = (Object.hasOwn(environment, name) && environment[name]) || fallback
    if (value === undefined) missing.push(name)
    return value ?? ""
  })
  return { text, changed, missing, malformed }
}
