import fc from "fast-check"
import { describe, expect, it } from "vitest"
import { defaultPatterns } from "#core/sandbox-policy/default-patterns.ts"
import { disguises, harmless, unknowable } from "#policies/command/inspect.examples.ts"
import { commandProblem, inspectCommand, maxCommandBytes } from "#policies/command/inspect.ts"

const found = (command: string, patterns: ReadonlyArray<string> = defaultPatterns) =>
  inspectCommand(command, patterns).map(({ rule }) => rule)

describe("a destructive command", () => {
  it.each(disguises)("is found as %s in: %s", (rule, command) => {
    expect(found(command)).toContain(rule)
  })

  it.each(unknowable)("is taken for one where nobody can know: %s", (command) => {
    expect(found(command)).not.toEqual([])
  })
})

describe("the default patterns", () => {
  it("each name a rule, which some example is found by", () => {
    const shown = new Set(disguises.map(([rule]) => rule))
    expect(defaultPatterns.filter((pattern) => !shown.has(pattern))).toEqual([])
  })
})

describe("a harmless command", () => {
  it.each(harmless)("may run: %s", (command) => {
    expect(inspectCommand(command, defaultPatterns)).toEqual([])
  })
})

/** One character of a word as it may be written in a shell. */
const written = (character: string) =>
  fc.constantFrom(
    character,
    `'${character}'`,
    `"${character}"`,
    `\\${character}`,
    `${character}''`,
    `\\\n${character}`,
    `$'\\x${character.charCodeAt(0).toString(16).padStart(2, "0")}'`,
  )
const word = (text: string) => fc.tuple(...[...text].map(written)).map((characters) => characters.join(""))
const space = fc.constantFrom(" ", "  ", "\t", " \\\n ")
const command = (...words: ReadonlyArray<string>) =>
  fc.tuple(...words.map((text) => fc.tuple(word(text), space))).map((parts) => parts.flat().join("").trimEnd())

const quoted = (text: string) => `'${text.replaceAll("'", "'\\''")}'`
/** Ways to run a command inside of another. */
const around: ReadonlyArray<(inner: string) => string> = [
  (inner) => `true && ${inner}`,
  (inner) => `( ${inner} )`,
  (inner) => `{ ${inner}\n}`,
  (inner) => `sh -c ${quoted(inner)}`,
  (inner) => `bash -euo pipefail -c ${quoted(inner)}`,
  (inner) => `eval ${quoted(inner)}`,
  (inner) => `echo "$(${inner}\n)"`,
  (inner) => `sudo -n env X=1 sh -c ${quoted(inner)}`,
  (inner) => `timeout 5 nohup bash -c ${quoted(inner)}`,
  // an end of its own: that of a document within would end it too
  (inner) => `sh <<'END${inner.length}'\n${inner}\nEND${inner.length}\n`,
  (inner) => `X=${quoted(inner)}; eval "$X"`,
  (inner) => `if ls; then ${inner}\nfi`,
]
const destructive = fc.oneof(
  fc.tuple(fc.constant("rm -rf"), command("rm", "-rf", "x")),
  fc.tuple(fc.constant("rm -rf"), command("/bin/rm", "--force", "-r", "x")),
  fc.tuple(fc.constant("git push --force"), command("git", "-C", "x", "push", "--force")),
  fc.tuple(fc.constant("git reset --hard"), command("git", "reset", "--hard")),
  fc.tuple(fc.constant("find -delete"), command("find", ".", "-delete")),
  fc.tuple(fc.constant("shred"), command("shred", "x")),
)

describe("quoting, spacing and nesting", () => {
  it("hide nothing", () => {
    const nested = fc.tuple(destructive, fc.array(fc.constantFrom(...around), { maxLength: 4 }))
    fc.assert(
      fc.property(nested, ([[rule, inner], layers]) => {
        expect(found(layers.reduce((text, layer) => layer(text), inner))).toContain(rule)
      }),
      { numRuns: 400 },
    )
  })

  it("make nothing of words that are only spoken of", () => {
    const said = fc.array(fc.constantFrom("rm", "-rf", "git push --force", ";", "mkfs", "`", "$(", "| sh", "\n"))
    fc.assert(
      fc.property(said, (words) => {
        expect(found(`git commit -m ${quoted(words.join(" "))}`)).toEqual([])
      }),
    )
  })

  it("never make the matcher fail", () => {
    const pieces = fc.constantFrom(
      ...`rm|-rf|$|(|)|{|}|\`|'|"|\\|;|&|||<<E|<|>|\n| |eval |sh -c |[[|]]|*|=|X|case|in`.split("|"),
    )
    fc.assert(fc.property(fc.array(pieces, { maxLength: 60 }), (parts) => Array.isArray(found(parts.join("")))))
    fc.assert(fc.property(fc.string({ unit: "binary", maxLength: 200 }), (text) => Array.isArray(found(text))))
  })
})

describe("a command of the greatest length", () => {
  const bits = [
    ...["a;", "a|", "$(", "((", "{a,b}", "'", "a ", "sh -c ", "sudo ", "xargs -Q ", "eval ", "npx ", "parallel ", "`"],
    ...[
      "X=a;$X ",
      "alias a=b;a;",
      "f(){ f x;};f y;",
      "sh <<E\n",
      "curl -o x;sh x;",
      "if ",
      "case x in ",
      "[[ ",
      "<(",
      "${x:-",
    ],
  ]

  it.each(bits)("made of %j is read, or said not to be", { timeout: 60_000 }, (bit) => {
    const command = bit.repeat(maxCommandBytes / bit.length)
    expect(commandProblem(command)).toBeUndefined()
    expect(Array.isArray(found(command))).toBe(true)
  })

  it("hides nothing behind more than is looked at", { timeout: 60_000 }, () => {
    for (const [before, after] of [
      ["a;", "rm -rf x"],
      ["npx ", "rm -rf x"],
      ["parallel ", "rm -rf x"],
      ["sudo ", "rm -rf x"],
      ["X=a;", "$X; rm -rf x"],
    ] as const) {
      expect(found(before.repeat(10_000) + after)).not.toEqual([])
    }
  })
})

describe("a pattern of one's own", () => {
  const own = (command: string) => found(command, ["kubectl  Delete", "drop table"])

  it.each([
    "kubectl delete pod x",
    "KUBECTL   delete pod x",
    "kube\"ctl\" 'delete' pod x",
    "k=kubectl; $k delete pod x",
    "sh -c 'kubectl  \\\n delete pod x'",
    "psql -c 'DROP   TABLE users'",
  ])("is found in: %s", (command) => {
    expect(own(command)).not.toEqual([])
  })

  it.each(["kubectl get pods", "drop the table", "rm -rf x"])("is not found in: %s", (command) => {
    expect(own(command)).toEqual([])
  })

  it("that is another name of a rule is that rule", () => {
    expect(found("rm --force -r x", ["rm -fr"])).toEqual(["rm -rf"])
    expect(found("git clean -df", ["rm -fr"])).toEqual([])
  })

  it("is all that is looked for, where the rules were taken out", () => {
    expect(found("rm -rf x", ["shred"])).toEqual([])
    expect(found("$X", [])).toEqual([])
  })
})

describe("a command that can never run", () => {
  it.each([
    ["", /empty/],
    ["ls\0", /NUL/],
    ["é".repeat(maxCommandBytes / 2 + 1), /longer/],
  ])("is told apart (%#)", (command, problem) => {
    expect(commandProblem(command)).toMatch(problem)
  })

  it("is not one that is just as long as it may be", () => {
    expect(commandProblem("x".repeat(maxCommandBytes))).toBeUndefined()
  })
})
