/** Statements as they are written: a template with values, which may be fragments of SQL. */
import { storableJson } from "#core/storable.ts"

/** A piece of SQL with its parameters, to be used inside a statement. */
export interface Fragment {
  readonly _fragment: true
}

export type SqlValue =
  | string
  | number
  | bigint
  | boolean
  | null
  | undefined
  | Date
  | Uint8Array
  | ReadonlyArray<string | number | bigint | boolean | null>
  | Fragment

export class TemplateFragment implements Fragment {
  readonly _fragment = true
  readonly strings: ReadonlyArray<string>
  readonly values: ReadonlyArray<SqlValue>
  constructor(strings: ReadonlyArray<string>, values: ReadonlyArray<SqlValue>) {
    this.strings = strings
    this.values = values
  }
}

/** JSON text that goes out as it is. */
export class JsonFragment implements Fragment {
  readonly _fragment = true
  readonly text: string
  constructor(value: unknown) {
    this.text = value === undefined ? "null" : storableJson(value)
  }
}

/** A value as it is sent: everything but a fragment of SQL. */
export type Bound = Exclude<SqlValue, Fragment> | JsonFragment

/** Text with `$1`, `$2`, … and the values for them. */
export interface Flat {
  readonly text: string
  readonly values: ReadonlyArray<Bound>
}

export const hasFragments = (values: ReadonlyArray<SqlValue>): boolean =>
  values.some((value) => value instanceof TemplateFragment)

/** The statement with its fragments put in place. */
export const flatten = (strings: ReadonlyArray<string>, values: ReadonlyArray<SqlValue>): Flat => {
  const bound: Array<Bound> = []
  const write = (parts: ReadonlyArray<string>, holes: ReadonlyArray<SqlValue>): string => {
    let text = parts[0] ?? ""
    holes.forEach((value, i) => {
      text += value instanceof TemplateFragment ? write(value.strings, value.values) : `$${bound.push(plain(value))}`
      text += parts[i + 1] ?? ""
    })
    return text
  }
  return { text: write(strings, values), values: bound }
}

const plain = (value: SqlValue): Bound => {
  // fragments are only made by the two classes here, and the one of SQL was put in place before
  if (value instanceof TemplateFragment) throw new TypeError("a fragment was not put in place")
  return value as Bound
}
