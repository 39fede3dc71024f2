import { execFile } from "node:child_process"
import { access } from "node:fs/promises"
import { tmpdir } from "node:os"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"
import { Effect } from "effect"
import { describe, expect, it } from "vitest"
import type { Tool } from "#runtime/sandbox/probe.ts"
import { type Attempts, attemptAll } from "#test/support/sandbox-attempts.ts"

const script = fileURLToPath(new URL("../../test/support/sandbox-attempts.ts", import.meta.url))
const nobody = 65_534

const expectClosed = ({ attempts, bystanderLives }: Attempts) => {
  expect(attempts.length).toBeGreaterThan(55)
  expect(attempts.filter(({ inside }) => inside === 0)).toEqual([])
  // without a sandbox they get through: the commands do what their names say
  expect(attempts.filter(({ outside }) => outside !== null && outside !== 0)).toEqual([])
  expect(attempts.filter(({ outside }) => outside === 0).length).toBeGreaterThan(25)
  expect(bystanderLives).toBe(true)
}

/** Another user must be able to read this repository and to run this Node.js. */
const isReadableBy = async (): Promise<boolean> =>
  process.getuid?.() === 0 &&
  promisify(execFile)(process.execPath, ["--version"], { uid: nobody, gid: nobody, cwd: "/" }).then(
    () => access(script).then(() => true),
    () => false,
  )

describe.each<Tool>(["namespaces", "bubblewrap"])("a sandbox made with %s", (tool) => {
  it("has no way out for the commands of this user", async ({ skip }) => {
    const told = await Effect.runPromise(attemptAll(tool))
    if (told.attempts.length === 0) skip(told.status)
    expectClosed(told)
  })

  it("has no way out for the commands of an ordinary user", async ({ skip }) => {
    if (!(await isReadableBy())) skip("the tests are not run by root, or others cannot read this repository")
    const { stdout } = await promisify(execFile)(process.execPath, [script, tool], {
      uid: nobody,
      gid: nobody,
      cwd: "/",
      env: { PATH: process.env.PATH, HOME: tmpdir() },
      maxBuffer: 8_388_608,
    })
    const told: Attempts = JSON.parse(stdout)
    if (told.attempts.length === 0) skip(told.status)
    expectClosed(told)
  })
})
