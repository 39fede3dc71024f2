// biome-ignore-all lint/suspicious/noTemplateCurlyInString: shell text, no templates
/** Held against real shells: whatever makes one of them run `rm -rf` must have been found before. */
import { execFile } from "node:child_process"
import { existsSync } from "node:fs"
import { mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { promisify } from "node:util"
import fc from "fast-check"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { defaultPatterns } from "#core/sandbox-policy/default-patterns.ts"
import { inspectCommand } from "#policies/command/inspect.ts"

const run = promisify(execFile)
const runs = Number(process.env.SVC_FUZZ_RUNS ?? 120)

let folder: string
let programs: string
let commands = 0

/** A folder with the shell, and with an `rm` that only says that it was called. */
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "svc-shells-"))
  programs = join(folder, "bin")
  await run("/bin/mkdir", [programs, join(folder, "here")])
  for (const program of ["sh", "env", "xargs", "cat"]) {
    const { stdout } = await run("/bin/sh", ["-c", `command -v ${program}`])
    await symlink(stdout.trim(), join(programs, program))
  }
  await writeFile(join(programs, "rm"), '#!/bin/sh\necho "$*" >> "$CALLED"\n', { mode: 0o755 })
})
afterAll(() => rm(folder, { recursive: true, force: true, maxRetries: 5 }))

/** Did the shell call `rm` so that it would have deleted a tree by force? */
const deletes = async (shell: string, command: string): Promise<boolean> => {
  // a file for each command: what one leaves behind in the background must not be taken for the next
  const called = join(folder, `called-${commands++}`)
  await writeFile(called, "")
  const env = { PATH: programs, CALLED: called }
  const options = { cwd: join(folder, "here"), env, timeout: 2_000, killSignal: "SIGKILL" } as const
  await run(shell, ["-c", command], options).catch(() => undefined)
  const calls = (await readFile(called, "utf8")).split("\n")
  return calls.some(
    (call) => /(?:^| )-(?:r\w*f|f\w*r)/.test(call) || (/(?:^| )-r/.test(call) && /(?:^| )-f/.test(call)),
  )
}

const dangerous = [
  "rm",
  "rm -rf x",
  "rm -r",
  "-rf",
  " -f",
  " -rf x",
  "$X -rf x",
  "rm $Y x",
  "$X $Y",
  "'rm -rf x'",
  '"rm -rf x"',
]
const pieces = [
  ...["rm", "rm -rf x", "r", "m", "-rf", "-r", "-f", " -rf x", " x", " ", " ", " ", "\n", ";", "&&", "|", "||"],
  ...["(", ")", "((", "))", "{ ", "; }", "$(", ")", "`", "'", '"', "\\", "$'", "X=", "X=rm;", "Y=-rf;", "$X", "${X}"],
  ...["$Y", "${X:-rm}", "echo rm", "eval ", "sh -c ", "env ", "X=1 ", "command ", "exec ", "[[ a ", " ]]", "!", "# "],
  ...[
    "if true; then ",
    "; fi",
    "f() ",
    "f",
    "<<E\n",
    "\nE\n",
    "set -- ",
    '"$@"',
    "$*",
    "xargs ",
    "echo ",
    "printf %s ",
    "<<<",
  ],
  ...[
    "case x in x) ",
    ";; esac",
    "for X in rm; do ",
    "; done",
    "alias q=",
    "\nq",
    "$0 -c ",
    "trap ",
    " EXIT",
    "IFS=r;",
    "{rm,-rf,x}",
  ],
]

describe.each(["/bin/sh", "/bin/bash"].filter(existsSync))("%s", (shell) => {
  it("runs no `rm -rf` that was not found", { timeout: 120_000 }, async () => {
    let ran = 0
    const piece = fc.oneof(
      { weight: 1, arbitrary: fc.constantFrom(...dangerous) },
      { weight: 2, arbitrary: fc.constantFrom(...pieces) },
    )
    const text = fc.array(piece, { minLength: 2, maxLength: 9 }).map((parts) => parts.join(""))
    await fc.assert(
      fc.asyncProperty(text, async (command) => {
        if (!(await deletes(shell, command))) return
        ran++
        expect(inspectCommand(command, defaultPatterns)).not.toEqual([])
      }),
      { numRuns: runs, examples: [["rm -rf x"], ["X=rm; $X -r -f x"], ["sh -c 'rm -rf x'"]] },
    )
    // the examples, at least: otherwise the test would say nothing
    expect(ran).toBeGreaterThanOrEqual(3)
  })
})
