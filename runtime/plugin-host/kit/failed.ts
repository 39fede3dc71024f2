/** Why the kit cannot do what it was asked: one message for the author, as the compiler said it where one did. */
import { Data } from "effect"

export class KitFailed extends Data.TaggedError("KitFailed")<{ readonly message: string }> {}

export const kitFailed = (message: string): KitFailed => new KitFailed({ message })

/** For `catch`: what was tried, and what came of it. */
export const whileDoing = (what: string) => (error: unknown) =>
  error instanceof KitFailed ? error : kitFailed(`${what}: ${error instanceof Error ? error.message : String(error)}`)

const missingPackage = /Cannot find (?:package|module) '(assemblyscript|@extism\/as-pdk|esbuild|quickjs-wasi|binaryen)/

/** Compilers are development packages of svc: an installation for production has none of them. */
export const whileCompiling = (what: string) => (error: unknown) => {
  const found = error instanceof Error ? missingPackage.exec(error.message) : null
  return found === null
    ? whileDoing(what)(error)
    : kitFailed(
        `${what}: the package ${found[1]} is not there. Run npm install in the folder of svc, without --omit=dev.`,
      )
}
