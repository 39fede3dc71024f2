/** Hostile and mistaken requests, and what each is told. Kept as data: add a line when one gets through. */

export interface BadInput {
  readonly what: string
  /** Method and target. */
  readonly ask: string
  readonly headers?: Record<string, string>
  readonly body?: string | Uint8Array<ArrayBuffer>
  readonly expected: string
  /** Paths that the answer names. */
  readonly issues?: ReadonlyArray<string>
}

const json = { "content-type": "application/json" }
const echo = "POST /api/toys"

export const badInput: ReadonlyArray<BadInput> = [
  // the path
  { what: "an encoded slash", ask: "GET /api/toys/a%2Fb", expected: "400 invalid_request", issues: ["path"] },
  { what: "an encoded slash, lower case", ask: "GET /api/toys/a%2fb", expected: "400 invalid_request" },
  { what: "an encoded backslash", ask: "GET /api/toys/a%5cb", expected: "400 invalid_request" },
  { what: "an encoded NUL", ask: "GET /api/toys/a%00", expected: "400 invalid_request" },
  { what: "an encoded newline", ask: "GET /api/toys/a%0ab", expected: "400 invalid_request" },
  { what: "a percent sign alone", ask: "GET /api/toys/100%", expected: "400 invalid_request" },
  { what: "a percent sign and one digit", ask: "GET /api/toys/%4", expected: "400 invalid_request" },
  { what: "half a character", ask: "GET /api/toys/%c3", expected: "400 invalid_request" },
  { what: "an overlong slash", ask: "GET /api/toys/%c0%af", expected: "400 invalid_request" },
  { what: "an encoded surrogate", ask: "GET /api/toys/%ed%a0%80", expected: "400 invalid_request" },
  { what: "an empty segment", ask: "GET /api//toys", expected: "400 invalid_request" },
  { what: "a slash at the end", ask: "GET /api/toys/", expected: "404 not_found" },
  { what: "a rest that ends with a slash", ask: "GET /api/toys/1/files/a/", expected: "404 not_found" },
  { what: "an encoded slash in a rest", ask: "GET /api/toys/1/files/..%2f..%2fetc", expected: "400 invalid_request" },
  { what: "an empty segment in a rest", ask: "GET /api/toys/1/files/a//b", expected: "400 invalid_request" },
  { what: "another case of the path", ask: "GET /API/toys", expected: "404 not_found" },
  {
    what: "a parameter that is no number",
    ask: "GET /api/toys/x",
    expected: "400 invalid_request",
    issues: ["params.toy"],
  },
  // ids
  { what: "a run id that is a number", ask: "GET /api/runs/1", expected: "400 invalid_run_id" },
  {
    what: "a run id in braces",
    ask: "GET /api/runs/%7B11111111-1111-4111-8111-111111111111%7D",
    expected: "400 invalid_run_id",
  },
  {
    what: "a run id without dashes",
    ask: "GET /api/runs/11111111111141118111111111111111",
    expected: "400 invalid_run_id",
  },
  { what: "SQL as a run id", ask: "GET /api/runs/'%20or%201=1--", expected: "400 invalid_run_id" },
  { what: "a very long run id", ask: `GET /api/runs/${"1".repeat(4_000)}`, expected: "400 invalid_run_id" },
  { what: "a project id that is a word", ask: "GET /api/projects/mine", expected: "400 invalid_project_id" },
  { what: "a malformed id where existence is hidden", ask: "GET /api/runs/1/files", expected: "404 run_not_found" },
  // the query
  {
    what: "a repeated parameter",
    ask: "GET /api/toys?size=1&size=1",
    expected: "400 invalid_request",
    issues: ["query.size"],
  },
  {
    what: "an unknown parameter",
    ask: "GET /api/toys?colour=red",
    expected: "400 invalid_request",
    issues: ["query.colour"],
  },
  { what: "an empty number", ask: "GET /api/toys?size=", expected: "400 invalid_request", issues: ["query.size"] },
  {
    what: "a number with a sign",
    ask: "GET /api/toys?size=%2B1",
    expected: "400 invalid_request",
    issues: ["query.size"],
  },
  {
    what: "a number with a leading zero",
    ask: "GET /api/toys?size=01",
    expected: "400 invalid_request",
    issues: ["query.size"],
  },
  {
    what: "a hexadecimal number",
    ask: "GET /api/toys?size=0x1",
    expected: "400 invalid_request",
    issues: ["query.size"],
  },
  {
    what: "a number in other digits",
    ask: "GET /api/toys?size=%D9%A1",
    expected: "400 invalid_request",
    issues: ["query.size"],
  },
  {
    what: "a number out of bounds",
    ask: "GET /api/toys?size=11",
    expected: "400 invalid_request",
    issues: ["query.size"],
  },
  { what: "a number beyond all bounds", ask: `GET /api/toys?size=${"9".repeat(400)}`, expected: "400 invalid_request" },
  { what: "a fraction", ask: "GET /api/toys?size=1.0", expected: "400 invalid_request", issues: ["query.size"] },
  {
    what: "a boolean that is a number",
    ask: "GET /api/toys?new=1",
    expected: "400 invalid_request",
    issues: ["query.new"],
  },
  { what: "a prototype as a parameter", ask: "GET /api/toys?__proto__=1", expected: "400 invalid_request" },
  {
    what: "broken encoding in the query",
    ask: "GET /api/toys?size=%zz",
    expected: "400 invalid_request",
    issues: ["query"],
  },
  { what: "bad UTF-8 in the query", ask: "GET /api/toys?name=%ff", expected: "400 invalid_request", issues: ["query"] },
  { what: "NUL in the query", ask: "GET /api/toys?name=a%00", expected: "400 invalid_request", issues: ["query.name"] },
  {
    what: "several wrong parameters",
    ask: "GET /api/toys?size=x&new=x&colour=red",
    expected: "400 invalid_request",
    issues: ["query.colour", "query.size", "query.new"],
  },
  // the body's form
  { what: "no body", ask: echo, headers: json, expected: "400 invalid_json" },
  { what: "no body and no type", ask: echo, expected: "400 invalid_json" },
  {
    what: "a body without a type",
    ask: echo,
    body: "{}",
    headers: { "content-type": "" },
    expected: "415 unsupported_media_type",
  },
  {
    what: "a form",
    ask: echo,
    body: "a=b",
    headers: { "content-type": "application/x-www-form-urlencoded" },
    expected: "415 unsupported_media_type",
  },
  {
    what: "plain text",
    ask: echo,
    body: "{}",
    headers: { "content-type": "text/plain" },
    expected: "415 unsupported_media_type",
  },
  {
    what: "JSON in Latin 1",
    ask: echo,
    body: "{}",
    headers: { "content-type": "application/json; charset=iso-8859-1" },
    expected: "415 unsupported_media_type",
  },
  {
    what: "two types",
    ask: echo,
    body: "{}",
    headers: { "content-type": "application/json, text/plain" },
    expected: "415 unsupported_media_type",
  },
  {
    what: "a compressed body",
    ask: echo,
    body: "x",
    headers: { ...json, "content-encoding": "gzip" },
    expected: "415 unsupported_media_type",
  },
  {
    what: "a body that is too large",
    ask: echo,
    headers: json,
    body: `"${"x".repeat(2_000)}"`,
    expected: "413 payload_too_large",
  },
  {
    what: "a body that says it is too large",
    ask: echo,
    headers: { ...json, "content-length": "2000000" },
    body: "{}",
    expected: "413 payload_too_large",
  },
  {
    what: "a body that says it is small",
    ask: echo,
    headers: { ...json, "content-length": "2" },
    body: `"${"x".repeat(2_000)}"`,
    expected: "413 payload_too_large",
  },
  // JSON
  { what: "half an object", ask: echo, headers: json, body: '{"name":', expected: "400 invalid_json" },
  { what: "two values", ask: echo, headers: json, body: "{}{}", expected: "400 invalid_json" },
  { what: "a comment", ask: echo, headers: json, body: '{"name":"a"/**/}', expected: "400 invalid_json" },
  {
    what: "bytes that are not UTF-8",
    ask: echo,
    headers: json,
    body: new Uint8Array([0x22, 0xff, 0x22]),
    expected: "400 invalid_json",
  },
  {
    what: "a repeated member",
    ask: echo,
    headers: json,
    body: '{"name":"a","name":"b"}',
    expected: "400 invalid_json",
    issues: ["body.name"],
  },
  {
    what: "__proto__",
    ask: echo,
    headers: json,
    body: '{"name":"a","__proto__":{"admin":true}}',
    expected: "400 invalid_json",
  },
  {
    what: "NUL in a string",
    ask: echo,
    headers: json,
    body: '{"name":"a\\u0000"}',
    expected: "400 invalid_json",
    issues: ["body.name"],
  },
  {
    what: "half a surrogate pair",
    ask: echo,
    headers: json,
    body: '{"name":"\\ud800"}',
    expected: "400 invalid_json",
    issues: ["body.name"],
  },
  {
    what: "an infinite number",
    ask: echo,
    headers: json,
    body: '{"name":"a","sizes":[1e999]}',
    expected: "400 invalid_json",
    issues: ["body.sizes[0]"],
  },
  {
    what: "deep nesting",
    ask: echo,
    headers: json,
    body: `${"[".repeat(400)}${"]".repeat(400)}`,
    expected: "400 invalid_json",
  },
  // what JSON says
  { what: "null", ask: echo, headers: json, body: "null", expected: "400 invalid_request", issues: ["body"] },
  { what: "an array", ask: echo, headers: json, body: "[]", expected: "400 invalid_request", issues: ["body"] },
  {
    what: "a missing member",
    ask: echo,
    headers: json,
    body: "{}",
    expected: "400 invalid_request",
    issues: ["body.name"],
  },
  {
    what: "several wrong members",
    ask: echo,
    headers: json,
    body: '{"name":1,"sizes":[1,"x",2.5]}',
    expected: "400 invalid_request",
    issues: ["body.name", "body.sizes[1]", "body.sizes[2]"],
  },
  {
    what: "a wrong parameter, query and body at once",
    ask: "PUT /api/toys/x?size=y",
    headers: json,
    body: '{"name":1}',
    expected: "400 invalid_request",
    issues: ["params.toy", "query.size", "body.name"],
  },
  // methods
  { what: "a method that the path does not have", ask: "DELETE /api/toys", expected: "405 method_not_allowed" },
  { what: "a method that nobody has", ask: "PROPFIND /api/toys", expected: "405 method_not_allowed" },
  {
    what: "a method in a header",
    ask: "POST /api/toys/1",
    headers: { "x-http-method-override": "PUT" },
    expected: "405 method_not_allowed",
  },
]
