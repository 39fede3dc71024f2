import { describe, expect, it } from "vitest"
import { findCommands } from "#runtime/build-test/commands.ts"

const found = (files: Record<string, string>) =>
  findCommands({ names: Object.keys(files), read: (path) => files[path] })
const commands = (files: Record<string, string>) => {
  const result = found(files)
  return result._tag === "Commands" ? result.commands.map(({ command }) => command) : result._tag
}

describe("the commands of a repository", () => {
  it("are what it says itself, before anything else", () => {
    expect(
      commands({
        ".svc/build.yml": "commands:\n  - { name: lint, run: npm run lint }\n  - { name: test, run: make check }\n",
        "package.json": '{"scripts":{"test":"vitest"}}',
      }),
    ).toEqual(["npm run lint", "make check"])
  })

  it.each([
    ["a script that is not YAML", "commands: [", "YAML"],
    ["no command", "commands: []", "commands"],
    ["a command without a text", "commands:\n  - { name: x }", "run"],
  ])("are not guessed where its own file has %s", (_, text, word) => {
    const result = found({ ".svc/build.yml": text, Makefile: "test:\n" })
    expect(result._tag === "Unreadable" && result.message).toContain(word)
  })

  it.each<[string, Record<string, string>, ReadonlyArray<string>]>([
    ["of npm", { "package.json": '{"scripts":{"build":"tsc","test":"vitest"}}' }, ["npm run build", "npm test"]],
    [
      "of npm with what it needs",
      { "package.json": '{"scripts":{"test":"vitest"},"devDependencies":{"vitest":"1"}}', "package-lock.json": "{}" },
      ["test -d node_modules || npm ci", "npm test"],
    ],
    [
      "of npm without a lock file",
      { "package.json": '{"scripts":{"test":"vitest"},"dependencies":{"a":"1"}}' },
      ["test -d node_modules || npm install", "npm test"],
    ],
    [
      "of pnpm",
      { "package.json": '{"scripts":{"build":"tsc","test":"x"},"dependencies":{"a":"1"}}', "pnpm-lock.yaml": "" },
      ["test -d node_modules || pnpm install --frozen-lockfile", "pnpm run build", "pnpm test"],
    ],
    [
      "of the package manager that the package names",
      { "package.json": '{"scripts":{"test":"x"},"packageManager":"pnpm@9.0.0"}', "yarn.lock": "" },
      ["pnpm test"],
    ],
    [
      "of the first yarn",
      { "package.json": '{"scripts":{"test":"x"},"dependencies":{"a":"1"}}', "yarn.lock": "# yarn lockfile v1\n" },
      ["test -d node_modules || yarn install --frozen-lockfile", "yarn test"],
    ],
    [
      "of a later yarn",
      { "package.json": '{"scripts":{"test":"x"},"dependencies":{"a":"1"}}', "yarn.lock": "# made\n\n__metadata:\n" },
      ["test -d node_modules || yarn install --immutable", "yarn test"],
    ],
    [
      "of yarn without a lock file",
      { "package.json": '{"scripts":{"test":"x"},"dependencies":{"a":"1"},"packageManager":"yarn@4.5.0"}' },
      ["test -d node_modules || yarn install", "yarn test"],
    ],
    ["of maven", { "pom.xml": "" }, ["mvn -q -B test"]],
    ["of maven by its wrapper", { "pom.xml": "", mvnw: "", ".mvn": "" }, ["./mvnw -q -B test"]],
    ["of gradle", { "build.gradle": "" }, ["gradle test"]],
    ["of gradle in Kotlin", { "settings.gradle.kts": "" }, ["gradle test"]],
    ["of gradle by its wrapper", { "build.gradle.kts": "", gradlew: "" }, ["./gradlew test"]],
    [
      "of dotnet, by its solution",
      { "B.csproj": "", "App.sln": "", "A.csproj": "" },
      ["dotnet build ./App.sln", "dotnet test ./App.sln"],
    ],
    [
      "of dotnet, by its projects",
      { "b's own.fsproj": "", "-a.csproj": "" },
      [
        "dotnet build ./-a.csproj",
        "dotnet test ./-a.csproj",
        "dotnet build './b'\\''s own.fsproj'",
        "dotnet test './b'\\''s own.fsproj'",
      ],
    ],
    ["of dotnet in its newer form", { "App.slnx": "" }, ["dotnet build ./App.slnx", "dotnet test ./App.slnx"]],
    ["of pytest by its own file", { "pytest.ini": "" }, ["python3 -m pytest"]],
    ["of pytest with an older setup", { "setup.py": "", "setup.cfg": "" }, ["python3 -m pytest"]],
    ["of make by its other names", { GNUmakefile: "test:\n" }, ["make test"]],
    ["of cargo", { "Cargo.toml": "" }, ["cargo build", "cargo test"]],
    ["of go", { "go.mod": "module a" }, ["go build ./...", "go test ./..."]],
    ["of pytest", { "pyproject.toml": "" }, ["python3 -m pytest"]],
    ["of make", { Makefile: "all:\n\ntest: all\n" }, ["make test"]],
    ["of the next kind where the first has none", { "package.json": "{}", Makefile: "test:\n\ttrue\n" }, ["make test"]],
  ])("are those %s", (_, files, expected) => {
    expect(commands(files)).toEqual(expected)
  })

  it.each<[string, Record<string, string>]>([
    ["no known file", { "README.md": "" }],
    [
      "a package that nobody wrote a test for",
      { "package.json": '{"scripts":{"test":"echo \\"Error: no test specified\\" && exit 1"}}' },
    ],
    ["names that only look like known ones", { "my.package.json": "{}", "App.sln.bak": "", "build.gradle.old": "" }],
    ["a Makefile without tests", { Makefile: "all:\n" }],
  ])("are none with %s", (_, files) => {
    expect(commands(files)).toBe("Nothing")
  })
})
