/** The commands of a package of Node.js, by the package manager whose files lie beside it. */
import { Result, Schema } from "effect"
import type { BuildCommand, TopFiles } from "#runtime/build-test/build-command.ts"

const Package = Schema.Struct({
  scripts: Schema.optionalKey(Schema.Record(Schema.String, Schema.String)),
  dependencies: Schema.optionalKey(Schema.Record(Schema.String, Schema.Unknown)),
  devDependencies: Schema.optionalKey(Schema.Record(Schema.String, Schema.Unknown)),
  packageManager: Schema.optionalKey(Schema.String),
})

/** What `npm init` writes where nobody wrote a test. */
const noTest = /no test specified/

interface Manager {
  readonly name: "npm" | "pnpm" | "yarn"
  readonly install: string
}

/** What the package says itself, else by its lock file. A lock file is kept to. */
const managerOf = ({ names, read }: TopFiles, said: string | undefined): Manager => {
  const has = (file: string) => names.includes(file)
  const named = said?.split("@", 1)[0]
  if (named === "pnpm" || (named === undefined && has("pnpm-lock.yaml"))) {
    return { name: "pnpm", install: has("pnpm-lock.yaml") ? "pnpm install --frozen-lockfile" : "pnpm install" }
  }
  if (named === "yarn" || (named === undefined && has("yarn.lock"))) {
    if (!has("yarn.lock")) return { name: "yarn", install: "yarn install" }
    // since its second version the file begins with what it is, and the option has another name
    const isFirst = !/^__metadata:/m.test(read("yarn.lock") ?? "")
    return { name: "yarn", install: `yarn install ${isFirst ? "--frozen-lockfile" : "--immutable"}` }
  }
  return { name: "npm", install: has("package-lock.json") ? "npm ci" : "npm install" }
}

export const nodeCommands = (top: TopFiles): ReadonlyArray<BuildCommand> => {
  const text = top.read("package.json")
  if (text === undefined) return []
  const parsed = Result.try(() => JSON.parse(text) as unknown)
  if (Result.isFailure(parsed)) return [{ name: "package.json", command: "node -e 'require(\"./package.json\")'" }]
  const decoded = Schema.decodeUnknownResult(Package)(parsed.success)
  if (Result.isFailure(decoded)) return []
  const { scripts = {}, dependencies = {}, devDependencies = {}, packageManager } = decoded.success
  const needs = Object.keys(dependencies).length + Object.keys(devDependencies).length > 0
  const { name, install } = managerOf(top, packageManager)
  const runs = (script: string) => scripts[script] !== undefined && !noTest.test(scripts[script])
  return [
    ...(needs ? [{ name: "install", command: `test -d node_modules || ${install}` }] : []),
    ...(runs("build") ? [{ name: "build", command: `${name} run build` }] : []),
    ...(runs("test") ? [{ name: "test", command: `${name} test` }] : []),
  ]
}
