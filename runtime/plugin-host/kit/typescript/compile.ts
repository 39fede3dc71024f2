/**
 * A policy in TypeScript or JavaScript, with what it imports, as a WebAssembly module. Types are checked by `checkTypes`, not here. The
 * policy's functions take and return values; JSON is our business.
 */
import { execFile } from "node:child_process"
import { createRequire } from "node:module"
import { dirname, join } from "node:path"
import { Effect } from "effect"
import { type KitFailed, kitFailed, whileCompiling } from "#runtime/plugin-host/kit/failed.ts"
import { engineFor } from "#runtime/plugin-host/kit/typescript/engine.ts"
import type { IoCall } from "#runtime/plugin-host/wasm/io-request.ts"

/** What QuickJS knows of the language. */
const target = "es2023"
const exportedName = /^[A-Za-z_$][A-Za-z0-9_$]*$/

export const compileTypeScript = (
  folder: string,
  entry: string,
  functions: ReadonlyArray<string>,
  io: ReadonlyArray<IoCall> = [],
): Effect.Effect<Uint8Array, KitFailed> =>
  Effect.gen(function* () {
    const unusable = functions.find((name) => !exportedName.test(name))
    if (unusable !== undefined) return yield* kitFailed(`${unusable} is not the name of a function in TypeScript.`)
    const source = yield* Effect.tryPromise({
      try: () => bundle(folder, entry, functions),
      catch: whileCompiling(`${entry} cannot be compiled`),
    })
    return yield* Effect.tryPromise({
      try: () => engineFor(source, functions, io),
      catch: whileCompiling(`${entry} cannot be compiled`),
    })
  })

/** One script, whose last value has the functions. */
const bundle = async (folder: string, entry: string, functions: ReadonlyArray<string>): Promise<string> => {
  const { build, formatMessages } = await import("esbuild")
  try {
    const { outputFiles } = await build({
      stdin: { contents: wrapper(entry, functions), resolveDir: folder, sourcefile: "svc.js", loader: "js" },
      absWorkingDir: folder,
      bundle: true,
      write: false,
      format: "iife",
      globalName: "svcPolicy",
      platform: "neutral",
      mainFields: ["module", "main"],
      charset: "utf8",
      target,
      logLevel: "silent",
      tsconfigRaw: {},
    })
    const [output] = outputFiles
    if (output === undefined) throw new Error("esbuild wrote nothing")
    return `${output.text}\n;svcPolicy`
  } catch (error) {
    if (!(error instanceof Error && "errors" in error && Array.isArray(error.errors))) throw error
    const messages = await formatMessages(error.errors, { kind: "error", color: false })
    throw kitFailed(messages.join("").trim())
  }
}

const wrapper = (entry: string, functions: ReadonlyArray<string>): string => `
import * as policy from ${JSON.stringify(`./${entry}`)}
const answering = (name) => {
  if (typeof policy[name] !== "function") throw new Error("The policy exports no function " + name + ".")
  return (text) => {
    const answer = policy[name](JSON.parse(text))
    if (answer instanceof Promise) throw new Error("A policy answers at once: " + name + " must not be async.")
    return JSON.stringify(answer ?? null)
  }
}
${functions.map((name) => `export const ${name} = answering(${JSON.stringify(name)})`).join("\n")}
`

/** With the compiler of svc, by the folder's tsconfig.json. Nothing to say where there is no compiler, or no tsconfig.json. */
export const checkTypes = (folder: string): Effect.Effect<void, KitFailed> =>
  Effect.callback<void, KitFailed>((resume) => {
    const compiler = typeScriptCompiler()
    if (compiler === undefined) return resume(Effect.void)
    execFile(process.execPath, [compiler, "--project", folder, "--pretty", "false"], { cwd: folder }, (error, stdout) =>
      resume(error === null ? Effect.void : kitFailed(`The types do not fit:\n${stdout.trim()}`)),
    )
  })

const typeScriptCompiler = (): string | undefined => {
  try {
    return join(dirname(createRequire(import.meta.url).resolve("typescript/package.json")), "bin", "tsc")
  } catch {
    return undefined
  }
}
