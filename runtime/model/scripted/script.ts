/**
 * A script: what agents say and do, written down instead of thought up. Read from YAML; everything that is wrong
 * with it is told with its line.
 */
import { Result, Schema, SchemaIssue } from "effect"
import { LineCounter, parseDocument } from "yaml"
import { modelFailureKinds } from "#core/wire/model.ts"
import { unknownSlots } from "#runtime/model/scripted/template.ts"

const text = Schema.String.check(Schema.isMaxLength(200_000))
const names = Schema.Union([Schema.String, Schema.Array(Schema.String)])

/** All that is given must hold. */
const When = Schema.Struct({
  /** How often a person or the service has said something in this conversation, from 1. */
  attempt: Schema.optionalKey(Schema.Int),
  /** The first thing that was said contains it. */
  task: Schema.optionalKey(text),
  /** The last thing that was said contains it. */
  said: Schema.optionalKey(text),
  /** The last result of a tool contains it. */
  result: Schema.optionalKey(text),
  /** The last result of a tool is an error. */
  failed: Schema.optionalKey(Schema.Boolean),
})
export type When = typeof When.Type

const Call = Schema.Struct({
  tool: Schema.String.check(Schema.isPattern(/^[A-Za-z0-9_-]{1,64}$/)),
  /** A text is passed on as it is, to see what becomes of arguments that are no JSON. */
  arguments: Schema.optionalKey(Schema.Unknown),
})

const Answer = Schema.Struct({
  when: Schema.optionalKey(When),
  say: Schema.optionalKey(text),
  /** Said as JSON: what is filled in cannot break it. */
  json: Schema.optionalKey(Schema.Unknown),
  calls: Schema.optionalKey(Schema.Array(Call)),
  /** A call of `report_outcome`. */
  outcome: Schema.optionalKey(Schema.Struct({ achieved: Schema.Boolean, reason: text })),
  finish: Schema.optionalKey(Schema.Literals(["length", "content_filter"])),
  /** The provider fails instead. */
  fail: Schema.optionalKey(
    Schema.Struct({ kind: Schema.Literals(modelFailureKinds), message: Schema.optionalKey(text) }),
  ),
})
export type Answer = typeof Answer.Type

const Role = Schema.Struct({
  /** Absent: every agent. */
  agent: Schema.optionalKey(names),
  /** Absent: `turn`. */
  purpose: Schema.optionalKey(names),
  when: Schema.optionalKey(When),
  /** The answer to step 0, 1, …; a list is alternatives, of which the first whose `when` holds is taken. */
  steps: Schema.Array(Schema.Unknown).check(Schema.isMinLength(1, { expected: "at least one step" })),
  /** After the last step, the last step again. */
  repeat: Schema.optionalKey(Schema.Boolean),
})

const Whole = Schema.Struct({
  script: Schema.Literal(1),
  /** Characters of one part of a text. */
  chunk: Schema.optionalKey(Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 10_000 }))),
  /** Milliseconds between two parts. */
  pause: Schema.optionalKey(Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 10_000 }))),
  roles: Schema.Array(Role).check(Schema.isMinLength(1, { expected: "at least one role" })),
})

export interface ScriptRole extends Omit<typeof Role.Type, "steps"> {
  readonly steps: ReadonlyArray<ReadonlyArray<Answer>>
  readonly line: number
}

export interface Script {
  readonly chunk: number
  readonly pause: number
  readonly roles: ReadonlyArray<ScriptRole>
}

const defaultChunk = 24
/** Characters of a script. */
const maxScript = 1_048_576

const strict = { errors: "all", onExcessProperty: "error" } as const
const readWhole = Schema.decodeUnknownResult(Whole)
const readAnswer = Schema.decodeUnknownResult(Answer)
const formatIssue = SchemaIssue.makeFormatterStandardSchemaV1()

type Path = ReadonlyArray<PropertyKey>

/** The script, or all that is wrong with it, a line each: `line 7: roles.0.steps.1.say: …`. */
export const readScript = (source: string): Result.Result<Script, ReadonlyArray<string>> => {
  if (source.length > maxScript) return Result.fail(["line 1: the script is larger than 1 MiB"])
  const lines = new LineCounter()
  const document = parseDocument(source, { version: "1.2", schema: "core", lineCounter: lines, prettyErrors: false })
  const lineAt = (offset: number): number => lines.linePos(offset).line
  if (document.errors.length > 0) {
    return Result.fail(document.errors.map(({ pos, message }) => `line ${lineAt(pos[0])}: ${message.trim()}`))
  }
  /** Of the value at the path, or of the nearest one around it. */
  const lineOf = (path: Path): number => {
    for (let length = path.length; length > 0; length--) {
      const node: unknown = document.getIn(path.slice(0, length), true)
      const range: unknown = typeof node === "object" && node !== null ? Reflect.get(node, "range") : undefined
      if (Array.isArray(range)) return lineAt(Number(range[0]))
    }
    return 1
  }
  const problems: Array<string> = []
  const wrong = (path: Path, message: string): void =>
    void problems.push(`line ${lineOf(path)}: ${path.map(String).join(".")}: ${message}`)
  const wrongAt = (path: Path, { issue }: { readonly issue: SchemaIssue.Issue }): void => {
    for (const one of formatIssue(issue).issues) wrong([...path, ...(one.path ?? []).map(keyOf)], one.message)
  }

  const plain: unknown = document.toJS({ maxAliasCount: 100 })
  const whole = readWhole(plain, strict)
  if (Result.isFailure(whole)) {
    wrongAt([], whole.failure)
    return Result.fail(problems)
  }
  const roles = whole.success.roles.map((role, index): ScriptRole => {
    const steps = role.steps.map((step, number) => {
      const place = ["roles", index, "steps", number]
      const alternatives = Array.isArray(step) ? step : [step]
      return alternatives.flatMap((alternative: unknown, choice) => {
        const path = Array.isArray(step) ? [...place, choice] : place
        const read = readAnswer(alternative, strict)
        if (Result.isFailure(read)) {
          wrongAt(path, read.failure)
          return []
        }
        for (const slot of unknownSlots(read.success)) wrong(path, `there is nothing to fill in for {{${slot}}}`)
        return [read.success]
      })
    })
    return { ...role, steps, line: lineOf(["roles", index]) }
  })
  if (problems.length > 0) return Result.fail(problems)
  return Result.succeed({ chunk: whole.success.chunk ?? defaultChunk, pause: whole.success.pause ?? 0, roles })
}

const keyOf = (segment: PropertyKey | { readonly key: PropertyKey }): PropertyKey =>
  typeof segment === "object" ? segment.key : segment
