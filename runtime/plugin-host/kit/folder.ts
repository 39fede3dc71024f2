/**
 * A policy as its author has it: a folder with plugin.json, the source, cases, and what the build writes. Reads and writes it; runs
 * nothing of it. The language is told by where the source lies.
 */
import { constants } from "node:fs"
import { access, mkdir, open, readFile } from "node:fs/promises"
import { dirname, join } from "node:path"
import { Effect } from "effect"
import type { AnyQuestion } from "#core/hook.ts"
import { parseJson } from "#gateway/json.ts"
import { questionNamed, questions } from "#policies/questions.ts"
import { type KitFailed, kitFailed, whileDoing } from "#runtime/plugin-host/kit/failed.ts"
import { manifestName } from "#runtime/plugin-host/packages/package.ts"

const { O_WRONLY, O_CREAT, O_TRUNC, O_NOFOLLOW } = constants

export const languages = ["ts", "as"] as const
export type Language = (typeof languages)[number]

/** Where the source begins. */
export const entryOf = { ts: "policy.ts", as: "assembly/policy.ts" } as const
/** Where the generated types are, beside the source. */
export const typesOf = { ts: "question.ts", as: "assembly/question.ts" } as const
export const jsonLibrary = "assembly/json.ts"
export const ioLibraryFile = "assembly/io.ts"

export interface PolicyFolder {
  readonly path: string
  readonly language: Language
  /** `plugin.json`, not yet checked: its digest may be of an earlier build. */
  readonly manifest: Readonly<Record<string, unknown>>
  readonly hooks: ReadonlyArray<{ readonly question: AnyQuestion; readonly function: string }>
}

export const openFolder = (path: string): Effect.Effect<PolicyFolder, KitFailed> =>
  Effect.gen(function* () {
    const manifest = yield* readJson(join(path, manifestName))
    if (!isObject(manifest)) return yield* kitFailed(`${join(path, manifestName)} is not a JSON object.`)
    const hooks = yield* hooksOf(manifest)
    const found = yield* Effect.filter(languages, (language) => exists(join(path, entryOf[language])))
    const [language] = found
    if (language === undefined || found.length > 1) {
      return yield* kitFailed(`${path} needs one of ${Object.values(entryOf).join(" and ")}: it says the language.`)
    }
    return { path, language, manifest, hooks }
  })

const hooksOf = Effect.fnUntraced(function* (manifest: Readonly<Record<string, unknown>>) {
  const hooks = isObject(manifest.extensions) && isObject(manifest.extensions.svc) && manifest.extensions.svc.hooks
  if (!isObject(hooks) || Object.keys(hooks).length === 0) {
    return yield* kitFailed(`${manifestName}: extensions.svc.hooks names no question.`)
  }
  return yield* Effect.forEach(Object.entries(hooks), ([name, exported]) =>
    Effect.map(knownQuestion(name), (question) => ({ question, function: String(exported) })),
  )
})

export const knownQuestion = (name: string): Effect.Effect<AnyQuestion, KitFailed> => {
  const question = questionNamed(name)
  return question === undefined
    ? kitFailed(`There is no question ${name}. The questions are: ${questions.map((each) => each.name).join(", ")}.`)
    : Effect.succeed(question)
}

/** Strict: a member that is there twice, or anything behind the value, is an error. */
export const readJson = (file: string): Effect.Effect<unknown, KitFailed> =>
  Effect.gen(function* () {
    const bytes = yield* Effect.tryPromise({
      try: () => readFile(file),
      catch: whileDoing(`${file} cannot be read`),
    })
    return yield* Effect.mapError(parseJson(bytes), ({ message }) =>
      kitFailed(`${file}: ${message.replace("The body", "It")}`),
    )
  })

/** Never through a symbolic link: a folder from elsewhere must not choose what is overwritten. */
export const writeText = (file: string, text: string | Uint8Array): Effect.Effect<void, KitFailed> =>
  Effect.tryPromise({
    try: async () => {
      await mkdir(dirname(file), { recursive: true })
      const target = await open(file, O_WRONLY | O_CREAT | O_TRUNC | (O_NOFOLLOW ?? 0), 0o666)
      await target.writeFile(text).finally(() => target.close())
    },
    catch: whileDoing(`${file} cannot be written`),
  })

export const exists = (file: string): Effect.Effect<boolean> =>
  Effect.promise(() =>
    access(file).then(
      () => true,
      () => false,
    ),
  )

export const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value)
