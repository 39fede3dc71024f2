/**
 * `GET /docs`: the OpenAPI document as a page, by Swagger UI from this machine. The page loads nothing
 * from elsewhere, and its policy would not let it.
 */
import { readFile } from "node:fs/promises"
import { fileURLToPath } from "node:url"
import { Effect } from "effect"
import { refuse } from "#core/refusal.ts"
import { access, type Route, reply, route } from "#core/route.ts"
import type { HeaderRecord } from "#gateway/headers.ts"

const script = "text/javascript; charset=utf-8"
const style = "text/css; charset=utf-8"

const html = `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <title>svc API</title>
    <link rel="stylesheet" href="/docs/swagger-ui.css">
  </head>
  <body>
    <div id="swagger-ui"></div>
    <noscript>This page needs JavaScript. The document itself is at <a href="/openapi.json">/openapi.json</a>.</noscript>
    <script src="/docs/swagger-ui-bundle.js"></script>
    <script src="/docs/start.js"></script>
  </body>
</html>
`

/** No validator badge: it would send the document's address to another site. */
const start = `SwaggerUIBundle({
  url: "/openapi.json",
  dom_id: "#swagger-ui",
  deepLinking: true,
  docExpansion: "none",
  filter: true,
  validatorUrl: null,
})
`

/** Swagger UI draws its icons from `data:` addresses, and React sets style attributes. */
const policy =
  "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; connect-src 'self'; " +
  "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

const page: HeaderRecord = { "content-security-policy": policy, "cache-control": "no-cache" }
/** The file names do not change with the version, so browsers ask again every hour. */
const asset: HeaderRecord = { "cache-control": "public, max-age=3600" }

/** A file of the package swagger-ui-dist. Without the package there is no page, and the rest runs. */
const packaged = (name: string, type: string) =>
  Effect.tryPromise({
    try: () => readFile(fileURLToPath(import.meta.resolve(`swagger-ui-dist/${name}`))),
    catch: () => refuse("not_found", { message: "The documentation page is not installed." }),
  }).pipe(Effect.map((bytes) => reply.text(bytes, type, asset)))

const file = (path: string, handle: Route["handle"]): Route =>
  route({
    method: "GET",
    path,
    access: access.public,
    summary: "The documentation page",
    tag: "Service",
    undocumented: true,
    handle,
  })

export const docsRoutes: ReadonlyArray<Route> = [
  file("/docs", () => Effect.succeed(reply.text(html, "text/html; charset=utf-8", page))),
  file("/docs/start.js", () => Effect.succeed(reply.text(start, script, asset))),
  file("/docs/swagger-ui-bundle.js", () => packaged("swagger-ui-bundle.js", script)),
  file("/docs/swagger-ui.css", () => packaged("swagger-ui.css", style)),
]
