/**
 * Golden cases: what a policy has to answer. One file, one case, whose name is the file's. Both sides are checked by the question's
 * schema, so that a case cannot ask what svc would never ask. Answers are compared whole, not by what counts of them.
 */
import { readdir } from "node:fs/promises"
import { basename, join } from "node:path"
import { Effect, Schema } from "effect"
import { canonicalJson } from "#core/canonical-json.ts"
import type { AnyQuestion } from "#core/hook.ts"
import { type KitFailed, kitFailed, whileDoing } from "#runtime/plugin-host/kit/failed.ts"
import { knownQuestion, readJson } from "#runtime/plugin-host/kit/folder.ts"
import { PlayedCall } from "#runtime/plugin-host/kit/played-io.ts"

const CaseFile = Schema.Struct({
  question: Schema.String,
  /** Settings, as they were granted. */
  config: Schema.optionalKey(Schema.Record(Schema.String, Schema.String)),
  /** What it is answered where it calls a host or uses what it keeps, in this order. */
  io: Schema.optionalKey(Schema.Array(PlayedCall)),
  ask: Schema.Unknown,
  /** Null: no opinion. */
  answer: Schema.Unknown,
})

export interface Case {
  readonly name: string
  readonly question: AnyQuestion
  readonly config: ReadonlyMap<string, string>
  readonly played: ReadonlyArray<PlayedCall>
  /** As svc would write the question. */
  readonly input: string
  /** Canonical JSON. */
  readonly expected: string
}

export const casesFolder = "cases"

export const readCases = Effect.fnUntraced(function* (
  folder: string,
): Effect.fn.Return<ReadonlyArray<Case>, KitFailed> {
  const names = yield* Effect.tryPromise({
    try: () => readdir(join(folder, casesFolder)),
    catch: whileDoing(`${join(folder, casesFolder)} cannot be read`),
  })
  const files = names.filter((name) => name.endsWith(".json")).toSorted()
  if (files.length === 0) return yield* kitFailed(`${join(folder, casesFolder)} has no case.`)
  return yield* Effect.forEach(files, (name) => readCase(join(folder, casesFolder, name)))
})

const readCase = Effect.fnUntraced(function* (file: string) {
  const found = yield* decodeIn(file, CaseFile, yield* readJson(file))
  const question = yield* Effect.mapError(knownQuestion(found.question), ({ message }) =>
    kitFailed(`${file}: ${message}`),
  )
  const input = yield* encodedBy(`${file}: ask`, question.ask, found.ask)
  return {
    name: basename(file, ".json"),
    question,
    config: new Map(Object.entries(found.config ?? {})),
    played: found.io ?? [],
    input,
    expected: found.answer === null ? "null" : yield* encodedBy(`${file}: answer`, question.answer, found.answer),
  } satisfies Case
})

const decodeIn = <T>(where: string, schema: Schema.Codec<T, unknown>, value: unknown) =>
  Effect.mapError(Schema.decodeUnknownEffect(schema)(value, { errors: "all", onExcessProperty: "error" }), (error) =>
    kitFailed(`${where}: ${error.message}`),
  )

/** The value as svc writes it: defaults filled in, members in one order. */
const encodedBy = Effect.fnUntraced(function* (where: string, schema: Schema.Codec<unknown, unknown>, value: unknown) {
  const decoded = yield* decodeIn(where, schema, value)
  const encoded = yield* Effect.mapError(Schema.encodeUnknownEffect(schema)(decoded), (error) =>
    kitFailed(`${where}: ${error.message}`),
  )
  return canonicalJson(encoded)
})
