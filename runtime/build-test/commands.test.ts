import { describe, expect, it } from "vitest"
import { findCommands } from "#runtime/build-test/commands.ts"

const found = (files: Record<string, string>) => findCommands((path) => files[path])
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
    ["a Makefile without tests", { Makefile: "all:\n" }],
  ])("are none with %s", (_, files) => {
    expect(commands(files)).toBe("Nothing")
  })
})
