import { Result } from "effect"
import { describe, expect, it } from "vitest"
import { redactedMark, showSettings } from "#runtime/settings/print.ts"
import { resolveSettings } from "#runtime/settings/resolve.ts"

const resolved = (text: string, environment: Record<string, string> = {}) =>
  resolveSettings({ file: { name: "svc.yml", path: "/etc/svc.yml", text }, environment, workingDirectory: "/srv" })

const plugins = (...args: Parameters<typeof resolved>) => Result.getOrThrow(resolved(...args)).values.Plugins

const problems = (text: string) => {
  const result = resolved(text)
  return Result.isFailure(result) ? result.failure.problems.map(({ path, message }) => `${path}: ${message}`) : []
}

describe("the settings of plugins", () => {
  it("are of any form, under the plugin's name", () => {
    const text = `
Plugins:
  Settings:
    notes: { Size: 3, On: true, Name: x, Words: [a, 2, { deep: [] }], Nested: { A: { B: 1 } } }
`
    expect(plugins(text).Settings).toEqual({
      notes: { Size: 3, On: true, Name: "x", Words: ["a", 2, { deep: [] }], Nested: { A: { B: 1 } } },
    })
  })

  it("may come from variables, and these win", () => {
    const environment = { Plugins__Settings__notes__Size: "4", Plugins__Settings__notes__Words__0: "b" }
    expect(plugins("Plugins: { Settings: { notes: { Size: 3 } } }", environment).Settings).toEqual({
      notes: { Size: 4, Words: ["b"] },
    })
  })

  it("expand variables to texts", () => {
    const dollar = "$"
    const text = `Plugins: { Settings: { notes: { Token: "${dollar}{TOKEN}" } } }`
    expect(plugins(text, { TOKEN: "123" }).Settings).toEqual({ notes: { Token: "123" } })
  })

  it("are never printed: nobody here knows which are secret", () => {
    const loaded = Result.getOrThrow(resolved("Plugins: { Settings: { notes: { Token: abc, List: [x] } } }"))
    const shown = showSettings(loaded).filter(({ name }) => name.startsWith("Plugins:Settings"))
    expect(shown.map(({ name, value }) => [name, value])).toEqual([
      ["Plugins:Settings:notes:Token", redactedMark],
      ["Plugins:Settings:notes:List:0", redactedMark],
    ])
  })

  it("name third-party plugins by a path or a package, one of them", () => {
    const text = (entry: string) => `Plugins: { Native: [{ Name: a, ${entry} }] }`
    expect(plugins(text("Path: ./a.ts")).Native).toEqual([{ Name: "a", Path: "./a.ts" }])
    expect(plugins(text("Package: '@me/a'")).Native).toEqual([{ Name: "a", Package: "@me/a" }])
    expect(problems(text("Path: ./a.ts, Package: a"))).toEqual(["Plugins:Native:0: Expected either Path or Package."])
    expect(problems("Plugins: { Native: [{ Name: a }] }")).toEqual([
      "Plugins:Native:0: Expected either Path or Package.",
    ])
    expect(problems(text("Package: ../a"))).toHaveLength(1)
  })
})
