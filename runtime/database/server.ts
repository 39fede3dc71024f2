/** Which PostgreSQL the service works with. */
import { Context } from "effect"
import type { Server } from "#core/sql.ts"

export interface DatabaseServerShape {
  readonly server: Server
  /** True where the service starts and stops it itself. */
  readonly embedded: boolean
}

export class DatabaseServer extends Context.Service<DatabaseServer, DatabaseServerShape>()(
  "runtime/database/DatabaseServer",
) {}
