/**
 * Decodes what a request carries by the schemas of its route, and names everything that is wrong at
 * once, by path: `params.entryId`, `query.after`, `body.items[0].name`. Messages say what was expected and
 * never repeat what was sent.
 */
import type { IncomingMessage } from "node:http"
import { Effect, Schema, SchemaIssue } from "effect"
import { type Issue, type Refusal, refuse, refuseInput } from "#core/refusal.ts"
import type { Route } from "#core/route.ts"
import { isJson, readBody } from "#gateway/body.ts"
import { parseJson } from "#gateway/json.ts"

/** Issues that one answer lists. */
const maxIssues = 50
/** Characters of a path in an issue: names of unknown members come from the caller. */
const maxIssuePath = 200

export interface Sent {
  readonly params: Record<string, string>
  /** The query as it was sent, without the question mark. */
  readonly query: string
  readonly request: Request
  readonly incoming: IncomingMessage | undefined
  /** Bytes, where the route says nothing else. */
  readonly bodyLimit: number
}

export interface Decoded {
  readonly params: unknown
  readonly query: unknown
  readonly body: unknown
}

export type RouteDecoder = (sent: Sent) => Effect.Effect<Decoded, Refusal>

/** A value, or what is wrong with it. */
type Checked = { readonly value: unknown } | { readonly issues: ReadonlyArray<Issue> }

export const makeDecoder = (route: Route): RouteDecoder => {
  const params = checker("params", route.params, { onExcessProperty: "ignore" })
  const query = checker("query", route.query, { onExcessProperty: "error" })
  const body = checker("body", route.body, { onExcessProperty: "ignore" })
  return Effect.fnUntraced(function* (sent: Sent) {
    const read = route.body === undefined ? undefined : yield* bodyOf(route, sent)
    const repeated = route.query === undefined ? [] : queryProblems(sent.query)
    const checked = [
      params === undefined ? { value: sent.params } : yield* params(sent.params),
      query === undefined
        ? { value: {} }
        : repeated.length > 0
          ? { issues: repeated }
          : yield* query(Object.fromEntries(new URLSearchParams(sent.query))),
      body === undefined ? { value: undefined } : yield* body(read),
    ] as const satisfies ReadonlyArray<Checked>
    const issues = checked.flatMap((part: Checked) => ("issues" in part ? part.issues : []))
    if (issues.length > 0) return yield* refuseInput(issues.slice(0, maxIssues))
    const [sentParams, sentQuery, sentBody] = checked.map((part: Checked) => ("value" in part ? part.value : undefined))
    return { params: sentParams, query: sentQuery, body: sentBody }
  })
}

const bodyOf = Effect.fnUntraced(function* (route: Route, { request, incoming, bodyLimit }: Sent) {
  const typed = request.headers.has("content-type")
  if (typed && !isJson(request)) return yield* refuse("unsupported_media_type")
  const bytes = yield* readBody(request, route.bodyLimit ?? bodyLimit, incoming)
  if (bytes.byteLength > 0 && !typed) return yield* refuse("unsupported_media_type")
  if (bytes.byteLength > 0) return yield* parseJson(bytes)
  if (route.bodyOptional === true) return {}
  return yield* refuse("invalid_json", { message: "A JSON body is expected, and there is none." })
})

const format = SchemaIssue.makeFormatterStandardSchemaV1()

const checker = (
  part: string,
  schema: Schema.Codec<unknown, unknown> | undefined,
  options: { readonly onExcessProperty: "ignore" | "error" },
): ((input: unknown) => Effect.Effect<Checked>) | undefined => {
  if (schema === undefined) return undefined
  const decode = Schema.decodeUnknownEffect(schema, { errors: "all", ...options })
  return (input) =>
    decode(input).pipe(
      Effect.match({
        onSuccess: (value): Checked => ({ value }),
        onFailure: (error): Checked => ({
          issues: format(error.issue).issues.map(({ path, message }) => ({
            path: pathText(part, path ?? []),
            message,
          })),
        }),
      }),
    )
}

const pathText = (part: string, path: ReadonlyArray<PropertyKey | { readonly key: PropertyKey }>): string =>
  path
    .map((step) => (typeof step === "object" ? step.key : step))
    .reduce<string>((text, key) => (typeof key === "number" ? `${text}[${key}]` : `${text}.${String(key)}`), part)
    .slice(0, maxIssuePath)

/** What the grammar of a query refuses before any schema is asked. */
const queryProblems = (sent: string): ReadonlyArray<Issue> => {
  if (!isDecodable(sent)) return [{ path: "query", message: "Expected valid percent-encoding of UTF-8" }]
  const seen = new Set<string>()
  const issues: Array<Issue> = []
  for (const [name, value] of new URLSearchParams(sent)) {
    const path = `query.${name}`.slice(0, maxIssuePath)
    if (seen.has(name)) issues.push({ path, message: "Expected at most once" })
    if (value.includes("\0") || name.includes("\0")) issues.push({ path, message: "Expected no NUL characters" })
    seen.add(name)
  }
  return issues
}

const isDecodable = (query: string): boolean => {
  try {
    decodeURIComponent(query)
    return true
  } catch {
    return false
  }
}
