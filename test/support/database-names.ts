/** What the two halves of the test database agree on: the server's address and the template's name. */
import { Effect } from "effect"
import { Sql } from "#core/sql.ts"

export interface TestServer {
  readonly host: string
  readonly port: number
  readonly user: string
  readonly database: string
}

export const templateName = "svc_template"

/** Runs one statement that is no part of a transaction, such as `create database`. */
export const adminStatement = (server: TestServer, text: string): Effect.Effect<void> =>
  Effect.scoped(
    Effect.flatMap(Effect.service(Sql), (sql) => sql.script(text)).pipe(
      Effect.provide(Sql.layer({ server, poolSize: 1, applicationName: "test-admin" })),
    ),
  ).pipe(Effect.orDie)
