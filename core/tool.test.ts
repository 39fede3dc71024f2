import { Effect, Result, Schema } from "effect"
import { describe, expect, it } from "vitest"
import { query } from "#core/query.ts"
import { access, route } from "#core/route.ts"
import { toolCall, toolFor, toolInput } from "#core/tool.ts"

const steer = route<{ id: string }, { limit?: number }, { kind: string; instruction?: string }>({
  method: "POST",
  path: "/api/runs/{id}/steer/{name}",
  access: access.run("contributor"),
  summary: "",
  tag: "Runs",
  query: Schema.Struct({ limit: Schema.optionalKey(query.int({ minimum: 1, maximum: 9 })) }),
  body: Schema.Struct({ kind: Schema.String, instruction: Schema.optionalKey(Schema.String) }),
  handle: () => Effect.undefined,
})

const tool = toolFor(steer, {
  name: "coordinator_steer",
  description: "",
  parameters: { run_id: { in: "path", name: "id" } },
})

const input = Result.getOrThrow(toolInput(tool, steer))

const call = (args: Record<string, unknown>) => {
  const made = toolCall(tool, input, args)
  return Result.isSuccess(made) ? made.success : made.failure.issues?.map(({ path, message }) => `${path}: ${message}`)
}

describe("a tool", () => {
  it("has the parameters of its route, under its own names", () => {
    expect(input.schema).toMatchObject({
      type: "object",
      required: ["run_id", "name", "kind"],
      additionalProperties: false,
      properties: { run_id: { type: "string" }, kind: { type: "string" }, limit: { type: "string" } },
    })
  })

  it("puts each argument in its place", () => {
    expect(call({ run_id: "r1", name: "n", kind: "stop", limit: 3 })).toEqual({
      method: "POST",
      target: "/api/runs/r1/steer/n?limit=3",
      body: { kind: "stop" },
    })
  })

  it.each([
    ["../../admin", "/api/runs/..%2F..%2Fadmin/steer/n"],
    ["a/b?c=d#e", "/api/runs/a%2Fb%3Fc%3Dd%23e/steer/n"],
    ["{name}", "/api/runs/%7Bname%7D/steer/n"],
    ["$&", "/api/runs/%24%26/steer/n"],
  ])("takes %j for data, never for a part of the path", (run_id, target) => {
    expect(call({ run_id, name: "n", kind: "stop" })).toMatchObject({ target })
  })

  it.each([
    ["nothing", {}, ["run_id: This is missing.", "name: This is missing.", "kind: This is missing."]],
    ["a path that climbs", { run_id: "..", name: "n", kind: "k" }, ["run_id: Expected a text that is not empty."]],
    [
      "an object in the path",
      { run_id: {}, name: "n", kind: "k" },
      ["run_id: Expected a text, a number, true or false."],
    ],
    ["what it does not know", { run_id: "r", name: "n", kind: "k", id: "x" }, ["id: The tool has no such parameter."]],
    [
      "a member of every object",
      { run_id: "r", name: "n", kind: "k", toString: "x" },
      ["toString: The tool has no such parameter."],
    ],
  ])("refuses %s", (_, args, issues) => {
    expect(call(args)).toEqual(issues)
  })

  it("does not fit a route that has not what it renames, or has two of one name", () => {
    const lost = toolFor(steer, { name: "t", description: "", parameters: { x: { in: "body", name: "id" } } })
    const twice = toolFor(steer, { name: "t", description: "", parameters: { kind: { in: "path", name: "id" } } })
    expect(toolInput(lost, steer)).toMatchObject({
      failure: "the parameter x stands for id of the body, which the route does not have",
    })
    expect(toolInput(twice, steer)).toMatchObject({
      failure: "two parameters are called kind: give one of them another name",
    })
  })
})
