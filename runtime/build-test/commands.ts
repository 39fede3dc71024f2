/**
 * Which commands build and test a repository, found from its own files: what the repository says in
 * `.svc/build.yml`, else what its package files say. Pure: the files are given.
 */
import { Result, Schema } from "effect"
import { parse } from "yaml"

export interface BuildCommand {
  /** `install`, `build`, `test`, or as the repository names it. */
  readonly name: string
  readonly command: string
}

/** `nothing`: the repository has no command that could be found. */
export type Found =
  | { readonly _tag: "Commands"; readonly source: string; readonly commands: ReadonlyArray<BuildCommand> }
  | { readonly _tag: "Nothing" }
  | { readonly _tag: "Unreadable"; readonly source: string; readonly message: string }

/** The text of a file at the top of the repository, or undefined. */
export type ReadFile = (path: string) => string | undefined

export const ownFile = ".svc/build.yml"

const maxCommands = 20

const OwnFile = Schema.Struct({
  commands: Schema.Array(
    Schema.Struct({
      name: Schema.String.check(Schema.isPattern(/^[A-Za-z0-9 ._-]{1,64}$/)),
      run: Schema.String.check(Schema.isMinLength(1), Schema.isMaxLength(8_192)),
    }),
  ).check(Schema.isMinLength(1), Schema.isMaxLength(maxCommands)),
})

const readOwn = (text: string): Found => {
  const parsed = Result.try(() => parse(text, { maxAliasCount: 0 }) as unknown)
  if (Result.isFailure(parsed)) return { _tag: "Unreadable", source: ownFile, message: "It is not valid YAML." }
  const decoded = Schema.decodeUnknownResult(OwnFile)(parsed.success)
  if (Result.isFailure(decoded)) {
    return { _tag: "Unreadable", source: ownFile, message: String(decoded.failure.message) }
  }
  const commands = decoded.success.commands.map(({ name, run }) => ({ name, command: run }))
  return { _tag: "Commands", source: ownFile, commands }
}

const Package = Schema.Struct({
  scripts: Schema.optionalKey(Schema.Record(Schema.String, Schema.String)),
  dependencies: Schema.optionalKey(Schema.Record(Schema.String, Schema.Unknown)),
  devDependencies: Schema.optionalKey(Schema.Record(Schema.String, Schema.Unknown)),
})

/** What `npm init` writes where nobody wrote a test. */
const noTest = /no test specified/

const node = (read: ReadFile): ReadonlyArray<BuildCommand> => {
  const text = read("package.json")
  if (text === undefined) return []
  const parsed = Result.try(() => JSON.parse(text) as unknown)
  if (Result.isFailure(parsed)) return [{ name: "package.json", command: "node -e 'require(\"./package.json\")'" }]
  const decoded = Schema.decodeUnknownResult(Package)(parsed.success)
  if (Result.isFailure(decoded)) return []
  const { scripts = {}, dependencies = {}, devDependencies = {} } = decoded.success
  const needs = Object.keys(dependencies).length + Object.keys(devDependencies).length > 0
  const locked = read("package-lock.json") !== undefined
  const runs = (name: string) => scripts[name] !== undefined && !noTest.test(scripts[name])
  return [
    ...(needs ? [{ name: "install", command: `test -d node_modules || npm ${locked ? "ci" : "install"}` }] : []),
    ...(runs("build") ? [{ name: "build", command: "npm run build" }] : []),
    ...(runs("test") ? [{ name: "test", command: "npm test" }] : []),
  ]
}

const test = (command: string): ReadonlyArray<BuildCommand> => [{ name: "test", command }]

/** The first that fits counts: one file, the commands that it stands for. */
const kinds: ReadonlyArray<readonly [file: string, commands: (read: ReadFile) => ReadonlyArray<BuildCommand>]> = [
  ["package.json", node],
  ["Cargo.toml", () => [{ name: "build", command: "cargo build" }, ...test("cargo test")]],
  ["go.mod", () => [{ name: "build", command: "go build ./..." }, ...test("go test ./...")]],
  ["pyproject.toml", () => test("python3 -m pytest")],
  ["pytest.ini", () => test("python3 -m pytest")],
  ["pom.xml", () => test("mvn -q -B test")],
  ["gradlew", () => test("./gradlew test")],
  ["Makefile", (read) => (/^test\s*:/m.test(read("Makefile") ?? "") ? test("make test") : [])],
]

export const findCommands = (read: ReadFile): Found => {
  const own = read(ownFile)
  if (own !== undefined) return readOwn(own)
  for (const [file, commandsOf] of kinds) {
    if (read(file) === undefined) continue
    const commands = commandsOf(read)
    if (commands.length > 0) return { _tag: "Commands", source: file, commands }
  }
  return { _tag: "Nothing" }
}
