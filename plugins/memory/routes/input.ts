/** Parts of paths, queries and bodies that several routes have. */
import { Schema } from "effect"
import { query } from "#core/query.ts"
import { maxName } from "#plugins/memory/values.ts"

export const tag = "Memory, decisions, sessions"

export type Nothing = Record<never, never>

/** Absent, null, or text that the handler looks at: so it says all that is wrong at once. */
export const field = Schema.optionalKey(Schema.NullOr(Schema.String))

/** Rows have ids of 32 bits. */
export const rowId = query.int({ minimum: 1, maximum: 2_147_483_647 })

export const ById = Schema.Struct({ id: Schema.String })
export type ById = typeof ById.Type

export const agentName = query.text(maxName)
