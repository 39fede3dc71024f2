/** A policy in AssemblyScript as a WebAssembly module: a few KB, and no interpreter in it. */
import { readFile } from "node:fs/promises"
import { createRequire } from "node:module"
import { dirname, isAbsolute, join, resolve, sep } from "node:path"
import { Effect } from "effect"
import { type KitFailed, kitFailed, whileCompiling } from "#runtime/plugin-host/kit/failed.ts"

const require = createRequire(import.meta.url)

/**
 * No collector: an instance answers one question and is set back, and the memory of a policy is bounded. It halves the module and the
 * time. `abort` stays an import: the host tells the author what was said and where.
 */
const options = ["-O3", "--converge", "--noAssert", "--runtime", "stub", "--noColors", "--exportStart", "_initialize"]

export const compileAssemblyScript = (folder: string, entry: string): Effect.Effect<Uint8Array, KitFailed> =>
  Effect.tryPromise({ try: () => compile(folder, entry), catch: whileCompiling(`${entry} cannot be compiled`) })

const compile = async (folder: string, entry: string): Promise<Uint8Array> => {
  const { default: asc } = await import("assemblyscript/asc")
  let wasm: Uint8Array | undefined
  const said: Array<string> = []
  const { error } = await asc.main([entry, "--outFile", "policy.wasm", ...options], {
    readFile: (file) => read(folder, file),
    writeFile: (file, content) => {
      if (file === "policy.wasm" && typeof content !== "string") wasm = content
    },
    listFiles: () => [],
    stderr: { write: (text: string) => void said.push(text) },
  })
  if (error !== null || wasm === undefined) throw kitFailed(said.join("").trim() || String(error))
  return wasm
}

/** The author's own packages first, then those of svc. */
const read = async (folder: string, file: string): Promise<string | null> => {
  const own = isAbsolute(file) ? file : resolve(folder, file)
  const found = own.startsWith(folder + sep) ? await textOf(own) : null
  if (found !== null || !file.startsWith("node_modules/")) return found
  const [, name, rest] = /^node_modules\/((?:@[^/]+\/)?[^/]+)\/(.*)$/.exec(file) ?? []
  if (name === undefined || rest === undefined) return null
  try {
    return await textOf(join(dirname(require.resolve(`${name}/package.json`)), rest))
  } catch {
    return null
  }
}

const textOf = (file: string): Promise<string | null> => readFile(file, "utf8").catch(() => null)
