/**
 * Writes a new policy: a folder that builds and passes its own cases. Nothing that is there is overwritten, and nothing is left behind
 * that is half written.
 */
import { execFile } from "node:child_process"
import { mkdir, readdir, readFile } from "node:fs/promises"
import { basename, join, relative, resolve } from "node:path"
import { fileURLToPath } from "node:url"
import { Effect } from "effect"
import type { AnyQuestion } from "#core/hook.ts"
import { maxPluginName, pluginNameForm } from "#core/plugin.ts"
import { writeTypes } from "#runtime/plugin-host/kit/build.ts"
import { type KitFailed, kitFailed, whileDoing } from "#runtime/plugin-host/kit/failed.ts"
import { entryOf, knownQuestion, type Language, typesOf, writeText } from "#runtime/plugin-host/kit/folder.ts"
import { defaultBudget } from "#runtime/plugin-host/packages/budget.ts"
import { abi } from "#runtime/plugin-host/packages/manifest-schema.ts"
import { manifestName } from "#runtime/plugin-host/packages/package.ts"
import { version } from "#runtime/version.ts"

/** TypeScript: most authors write it, and its policies are isolated as those of any language. */
export const defaultLanguage: Language = "ts"
const templates = fileURLToPath(new URL("templates/", import.meta.url))
const svcFolder = fileURLToPath(new URL("../../../", import.meta.url))
/** The function that answers. */
const exported = "decide"
const megabyte = 1_048_576
const linkLimitMs = 60_000

export interface NewPolicy {
  readonly folder: string
  readonly name: string
  readonly language: Language
}

export const newPolicy = Effect.fn("newPolicy")(function* (
  path: string,
  questionName: string,
  language: Language,
): Effect.fn.Return<NewPolicy, KitFailed> {
  const folder = resolve(path)
  const name = yield* nameFor(folder)
  const question = yield* knownQuestion(questionName)
  yield* requireEmpty(folder)
  const template = join(templates, question.name)
  yield* writeText(join(folder, entryOf[language]), yield* textOf(join(template, `policy.${language}.txt`)))
  yield* writeTypes({ path: folder, language, hooks: [{ question, function: exported }] })
  for (const file of yield* namesIn(join(template, "cases"))) {
    yield* writeText(join(folder, "cases", file), yield* textOf(join(template, "cases", file)))
  }
  yield* writeText(join(folder, manifestName), json(manifestOf(name, question)))
  yield* writeText(join(folder, "package.json"), json(packageOf(name, folder)))
  yield* writeText(join(folder, "tsconfig.json"), json(language === "ts" ? tsconfig : assemblyTsconfig))
  yield* writeText(join(folder, ".gitignore"), "node_modules/\npolicy.wasm\n")
  yield* writeText(join(folder, "README.md"), yield* readme(name, question, language))
  return { folder, name, language }
})

const nameFor = (folder: string): Effect.Effect<string, KitFailed> => {
  const name = basename(folder)
  return pluginNameForm.test(name) && name.length <= maxPluginName
    ? Effect.succeed(name)
    : kitFailed(
        `The folder is named as the policy: in kebab-case, with at most ${maxPluginName} characters. ${JSON.stringify(name)} is not.`,
      )
}

const requireEmpty = Effect.fnUntraced(function* (folder: string) {
  const entries = yield* Effect.tryPromise({
    try: async () => {
      await mkdir(folder, { recursive: true })
      return await readdir(folder)
    },
    catch: whileDoing(`${folder} cannot be made`),
  })
  if (entries.length > 0) return yield* kitFailed(`${folder} is not empty.`)
})

const manifestOf = (name: string, question: AnyQuestion) => ({
  $schema: "https://json-schema.org/draft/2020-12/schema",
  name,
  version: "0.1.0",
  description: `Answers ${question.name}.`,
  extensions: {
    svc: {
      kind: "wasm",
      abi,
      engine: `>=${version}`,
      entry: "./policy.wasm",
      // the build writes it
      sha256: "0".repeat(64),
      hooks: { [question.name]: exported },
    },
  },
})

const packageOf = (name: string, folder: string) => ({
  name,
  version: "0.1.0",
  private: true,
  type: "module",
  scripts: { build: "svc plugin build", test: "svc plugin test" },
  devDependencies: { svc: `file:${relative(folder, svcFolder).replaceAll("\\", "/")}` },
})

const tsconfig = {
  compilerOptions: {
    target: "es2023",
    lib: ["es2023"],
    module: "preserve",
    types: [],
    strict: true,
    exactOptionalPropertyTypes: true,
    noUncheckedIndexedAccess: true,
    allowImportingTsExtensions: true,
    noEmit: true,
  },
  include: ["*.ts"],
}

/** For editors. */
const assemblyTsconfig = {
  extends: "./node_modules/svc/node_modules/assemblyscript/std/assembly.json",
  include: ["assembly/*.ts"],
}

const readme = Effect.fnUntraced(function* (name: string, question: AnyQuestion, language: Language) {
  const nothing =
    question.kind === "guard"
      ? "A guard that cannot answer refuses."
      : "An answer of `null` is no opinion: the next policy is asked, and in the end svc itself."
  const values: Readonly<Record<string, string>> = {
    name,
    question: question.name,
    summary: question.summary,
    entry: entryOf[language],
    types: typesOf[language],
    fuel: defaultBudget.fuel.toLocaleString("en"),
    memory: String(defaultBudget.memory / megabyte),
    nothing,
  }
  const text = yield* textOf(join(templates, "README.md.txt"))
  return text.replace(/\{\{(\w+)\}\}/g, (_, key: string) => values[key] ?? "")
})

/** Links svc into the folder's node_modules, by npm and without the network. False: npm install has to be run there. */
export const linkService = (folder: string): Effect.Effect<boolean> =>
  Effect.callback<boolean>((resume) => {
    const options = ["install", "--offline", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"]
    const windows = process.platform === "win32"
    execFile("npm", options, { cwd: folder, shell: windows, timeout: linkLimitMs }, (error) =>
      resume(Effect.succeed(error === null)),
    )
  })

const textOf = (file: string) =>
  Effect.tryPromise({ try: () => readFile(file, "utf8"), catch: whileDoing("The kit is damaged") })

const namesIn = (folder: string) =>
  Effect.tryPromise({ try: async () => (await readdir(folder)).toSorted(), catch: whileDoing("The kit is damaged") })

const json = (value: unknown): string => `${JSON.stringify(value, null, 2)}\n`
