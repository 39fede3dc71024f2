/**
 * `edge.request`: is this request let in? Asked after the caller is known and before the route decides, for every
 * surface. Nothing is refused without a plugin. Bodies and credentials are not part of the question.
 */
import { Duration, Schema } from "effect"
import { guardQuestion } from "#core/hook.ts"
import { nullable, text } from "#policies/fields.ts"

/** It stands in the way of every request. */
const timeLimit = Duration.millis(500)

export const edgeRequest = guardQuestion({
  name: "edge.request",
  summary: "A request came in: to the API, to the MCP server, or to a preview.",
  ask: Schema.Struct({
    surface: Schema.Literals(["http", "mcp", "preview"]),
    method: text,
    host: text,
    path: text.annotate({ description: "Without the query." }),
    route: nullable.annotate({ description: "The pattern that answers, such as /api/runs/{id}." }),
    subject: nullable.annotate({ description: "Who calls; null for nobody known." }),
    remoteAddress: nullable,
  }),
  timeLimit,
})
