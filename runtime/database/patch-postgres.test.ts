import { copyFile, mkdtemp, readFile, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import postgres from "postgres"
import { describe, expect, inject, it } from "vitest"
import { connectionFile, repair, repairs, stateOf } from "#runtime/database/patch-postgres.js"

/** A copy of the driver's file as it was published. */
const withOriginal = async (use: (file: string) => Promise<void> | void) => {
  const folder = await mkdtemp(join(tmpdir(), "svc-patch-"))
  try {
    const file = join(folder, "connection.js")
    await copyFile(connectionFile(), file)
    let text = await readFile(file, "utf8")
    for (const [from, to] of repairs) text = text.replace(to, () => from)
    await writeFile(file, text)
    await use(file)
  } finally {
    await rm(folder, { recursive: true })
  }
}

describe("the repair of the driver", () => {
  it("is in place", () => {
    expect(stateOf()).toBe("repaired")
  })

  it("repairs the published file, and leaves a repaired one as it is", () =>
    withOriginal(async (file) => {
      expect(stateOf(file)).toBe("original")
      repair(file)
      expect(stateOf(file)).toBe("repaired")
      const once = await readFile(file, "utf8")
      repair(file)
      expect(await readFile(file, "utf8")).toBe(once)
      expect(once).toBe(await readFile(connectionFile(), "utf8"))
    }))

  it("does not touch another version", () =>
    withOriginal(async (file) => {
      const other = `${await readFile(file, "utf8")}\n`
      await writeFile(file, other)
      expect(() => repair(file)).toThrow("not that of postgres 3.4.9")
      expect(await readFile(file, "utf8")).toBe(other)
    }))

  it("answers a statement on a reserved connection whose backend died, where the driver would end the process", async () => {
    const { host, port, user, database } = inject("databaseServer")
    const sql = postgres({ host, port, user, database, max: 2, onnotice: () => {} })
    try {
      const reserved = await sql.reserve()
      const [row] = await reserved`select pg_backend_pid() as pid`
      const closed = new Promise<void>((resolve) => {
        sql.options.onclose = () => resolve()
      })
      await sql`select pg_terminate_backend(${row?.pid})`
      await closed
      await expect(reserved`select 1`).rejects.toMatchObject({ code: "CONNECTION_CLOSED" })
      await expect(reserved`select 2`).rejects.toMatchObject({ code: "CONNECTION_CLOSED" })
      expect(await sql`select 1 as one`).toMatchObject([{ one: 1 }])
    } finally {
      await sql.end({ timeout: 1 })
    }
  })
})
