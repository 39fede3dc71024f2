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

it.each([undefined, null, 7, "text", {}, [], new Error("sk-0123456789abcdef"), new TypeError("fetch failed")])(
  "%o fails by name, and does not show itself",
  (error) => {
    const { failed } = faultOf("p", error, now)
    expect(failed).toMatchObject({ _tag: "ModelFailed", kind: "ProviderUnavailable" })
    expect(failed.message).not.toContain("sk-")
  },
)
