import { Result } from "effect"
import { describe, expect, it } from "vitest"
import { type CreateProjectBody, readNewProject } from "#core/project/input.ts"

const blank: CreateProjectBody = { name: "one", origin: "blank", working_directory: "/srv/one" }

const said = (body: CreateProjectBody): string =>
  Result.match(readNewProject(body), { onFailure: (refusal) => refusal.message, onSuccess: () => "fine" })

describe("a new project", () => {
  it("needs a name, an origin and a working directory, and says all three at once", () => {
    const refused = readNewProject({})
    expect(Result.isFailure(refused) && refused.failure.issues?.map((issue) => issue.path)).toEqual([
      "body.name",
      "body.origin",
      "body.working_directory",
    ])
  })

  it.each<[string, CreateProjectBody, string]>([
    ["is fine with the three", blank, "fine"],
    ["refuses a name of spaces", { ...blank, name: "  " }, "name is required."],
    ["refuses a name of two lines", { ...blank, name: "a\nb" }, "name must be one line of at most 200 characters."],
    ["refuses another origin", { ...blank, origin: "git" }, "origin must be 'blank' or 'remote'."],
    ["refuses an empty path", { ...blank, working_directory: "" }, "working_directory is required."],
    [
      "refuses a relative path",
      { ...blank, working_directory: "srv/one" },
      "working_directory must be an absolute path.",
    ],
    [
      "refuses a path with a NUL",
      { ...blank, working_directory: "/srv\0" },
      "working_directory must be an absolute path.",
    ],
    ["refuses another provider", { ...blank, default_provider: "x" }, "default_provider must be 'hosted' or 'byok'."],
    [
      "refuses two blueprints",
      { ...blank, blueprint_id: "b", blueprint: {} },
      "Provide either blueprint_id or an inline blueprint, not both.",
    ],
    ["refuses an unknown blueprint", { ...blank, blueprint_id: "b" }, "No predefined blueprint with id 'b'."],
    [
      "needs a selection code for a remote repository",
      { ...blank, origin: "remote" },
      "repository_selection_code is required when origin is 'remote'.",
    ],
    [
      "refuses what is no selection code",
      { ...blank, origin: "remote", repository_selection_code: "x" },
      "repository_selection_code is not a selection code.",
    ],
    ["takes a selection code", { ...blank, origin: "remote", repository_selection_code: "a".repeat(43) }, "fine"],
    [
      "refuses a selection code for a blank one",
      { ...blank, repository_selection_code: "a".repeat(43) },
      "repository_selection_code is only for origin 'remote'.",
    ],
    ["takes null for what may be absent", { ...blank, default_provider: null, blueprint: null, token: null }, "fine"],
  ])("%s", (_, body, expected) => {
    expect(said(body)).toBe(expected)
  })

  it.each(["source_repository", "clone_url", "owner", "installation_id", "token", "permissions"] as const)(
    "refuses %s: the selection code alone says where a repository comes from",
    (field) => {
      expect(said({ ...blank, [field]: "x" })).toContain(`${field} is not accepted`)
    },
  )

  it("says what is wrong with an inline blueprint", () => {
    const refused = readNewProject({ ...blank, blueprint: { roster: "a", bespoke_roles: [{ id: "x" }] } })
    expect(Result.isFailure(refused) && refused.failure.code).toBe("invalid_blueprint")
    expect(Result.isFailure(refused) && refused.failure.extra?.details).toHaveLength(3)
  })

  it("wants each bespoke role in the roster", () => {
    const role = { id: "poet", title: "Poet", charter: "Write." }
    expect(said({ ...blank, blueprint: { roster: ["poet"], bespoke_roles: [role] } })).toBe("fine")
    const refused = readNewProject({ ...blank, blueprint: { roster: [], bespoke_roles: [role] } })
    expect(Result.isFailure(refused) && refused.failure.extra?.details).toEqual([
      "bespoke_roles: 'poet' is not in the roster",
    ])
  })
})
