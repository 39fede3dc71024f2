/** The build tools that are known: the files by which each is found, and the commands that they stand for. */
import type { BuildCommand, TopFiles } from "#runtime/build-test/build-command.ts"
import { nodeCommands } from "#runtime/build-test/node.ts"

interface Kind {
  /** Its files, by their names. */
  readonly files: RegExp
  /** `found` is the first of them, by name. None: nothing can be tested. */
  readonly commandsOf: (top: TopFiles, found: string) => ReadonlyArray<BuildCommand>
}

const test = (command: string): ReadonlyArray<BuildCommand> => [{ name: "test", command }]
const build = (command: string): ReadonlyArray<BuildCommand> => [{ name: "build", command }]

/** The repository's own copy of the tool, where it has one. */
const wrapped = ({ names }: TopFiles, wrapper: string, tool: string): string =>
  names.includes(wrapper) ? `./${wrapper}` : tool

/** The solution where there is one, else every project: where there are several, the tool wants to be told which. */
const dotnetCommands = ({ names }: TopFiles): ReadonlyArray<BuildCommand> => {
  const [solution] = names.filter((name) => /\.slnx?$/.test(name)).sort()
  const projects = names.filter((name) => /\.(?:cs|fs|vb)proj$/.test(name)).sort()
  return (solution === undefined ? projects : [solution]).flatMap((name) => [
    ...build(`dotnet build ${quoted(`./${name}`)}`),
    ...test(`dotnet test ${quoted(`./${name}`)}`),
  ])
}

/** As one word of a shell. */
const quoted = (text: string): string => (/^[\w./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`)

export const kinds: ReadonlyArray<Kind> = [
  { files: /^package\.json$/, commandsOf: nodeCommands },
  { files: /^Cargo\.toml$/, commandsOf: () => [...build("cargo build"), ...test("cargo test")] },
  { files: /^go\.mod$/, commandsOf: () => [...build("go build ./..."), ...test("go test ./...")] },
  {
    files: /^(?:pyproject\.toml|pytest\.ini|setup\.py|setup\.cfg|tox\.ini)$/,
    commandsOf: () => test("python3 -m pytest"),
  },
  { files: /^pom\.xml$/, commandsOf: (top) => test(`${wrapped(top, "mvnw", "mvn")} -q -B test`) },
  {
    files: /^(?:gradlew|(?:build|settings)\.gradle(?:\.kts)?)$/,
    commandsOf: (top) => test(`${wrapped(top, "gradlew", "gradle")} test`),
  },
  { files: /\.(?:slnx?|csproj|fsproj|vbproj)$/, commandsOf: dotnetCommands },
  {
    files: /^(?:GNUmakefile|makefile|Makefile)$/,
    commandsOf: ({ read }, found) => (/^test\s*:/m.test(read(found) ?? "") ? test("make test") : []),
  },
]
