/** What is read from an error of a package: the pause that the provider asks for, and the code that it gives. */
import { expect, it } from "vitest"
import { faultOf } from "#runtime/model/provider/failure.ts"
import { problemOf } from "#runtime/model/provider/problem.ts"

const now = Date.parse("2026-01-01T00:00:00Z")

it.each([
  [{}, null],
  [{ "retry-after": "7" }, 7_000],
  [{ "retry-after": "0.5" }, 500],
  [{ "retry-after": "Thu, 01 Jan 2026 00:00:30 GMT" }, 30_000],
  [{ "retry-after": "Wed, 31 Dec 2025 00:00:00 GMT" }, 0],
  [{ "retry-after": "soon" }, null],
  [{ "retry-after": "" }, null],
  [{ "retry-after": "-5" }, 0],
  [{ "retry-after-ms": "250", "retry-after": "7" }, 250],
])("%o asks for a pause of %s ms", (responseHeaders, pause) => {
  const error = Object.assign(new Error("too many"), { statusCode: 429, responseHeaders, responseBody: "" })
  expect(faultOf("p", error, now).retryAfter).toBe(pause)
})

it.each([
  ['{"error":{"code":"a_code","type":"a_type"}}', ["a_code", "a_type"]],
  ['{"error":{"code":"outer","innererror":{"code":"inner"}}}', ["inner", "outer"]],
  ['{"type":"error","error":{"type":"overloaded_error"}}', ["overloaded_error"]],
  ['{"error":{"code":"no code: sk-0123, line\\n"}}', []],
  ['{"error":{"code":429}}', []],
  ["<html>", []],
  ["", []],
  ["null", []],
])("%s has the codes %o", (body, codes) => {
  expect(problemOf(body).codes).toEqual(codes)
})

/** As servers answer that people run, each in its own way. */
it.each([
  [
    404,
    { object: "error", message: "The model `qwen2.5-coder` does not exist.", type: "NotFoundError" },
    "UnavailableModel",
  ],
  [404, { error: { message: "model 'llama3.1:8b' not found", type: "api_error" } }, "UnavailableModel"],
  [400, { error: { message: "foo/bar is not a valid model ID", code: 400 } }, "UnavailableModel"],
  [400, { error: { message: "The model is busy. No page was not found" } }, "Configuration"],
  [400, [{ error: { message: "API key not valid. Please pass a valid API key." } }], "Authorization"],
  [400, { error: { message: "gemma:2b does not support tools", type: "api_error" } }, "Configuration"],
  [400, { error: { message: "what is this?", type: "api_error" } }, "Configuration"],
  [500, { error: { message: "it broke", type: "api_error" } }, "ProviderUnavailable"],
])("%s %j is %s", (statusCode, body, kind) => {
  const error = Object.assign(new Error("no"), { statusCode, responseBody: JSON.stringify(body) })
  expect(faultOf("p", error, now).failed.kind).toBe(kind)
})

it.each([undefined, null, 7, "text", {}, [], new Error("sk-0123456789abcdef"), new TypeError("fetch failed")])(
  "%o fails by name, and does not show itself",
  (error) => {
    const { failed } = faultOf("p", error, now)
    expect(failed).toMatchObject({ _tag: "ModelFailed", kind: "ProviderUnavailable" })
    expect(failed.message).not.toContain("sk-")
  },
)
