import { Effect, Result, Schema } from "effect"
import { describe, expect, it } from "vitest"
import { defineEvent } from "#core/event.ts"
import { definePlugin, type PluginSpec } from "#core/plugin.ts"
import { questions } from "#policies/questions.ts"
import type { Candidate } from "#runtime/plugin-host/candidate.ts"
import { clashes, ownProblems, readSettings } from "#runtime/plugin-host/check.ts"
import { faultLimit, faultWindow, keptFaults, makeFaultLog } from "#runtime/plugin-host/fault-log.ts"
import { startOrder } from "#runtime/plugin-host/order.ts"

const world = { version: "0.3.0", questions, coreEvents: ["run.started"] }

const built = (name: string, more: Partial<PluginSpec<undefined>> = {}): Candidate => ({
  plugin: definePlugin({ name, setup: () => Effect.succeed({}), ...more }),
  source: { kind: "built-in" },
})
const third = (name: string, more: Partial<PluginSpec<undefined>> = {}): Candidate => ({
  ...built(name, more),
  source: { kind: "package", package: `svc-${name}` },
})

const noted = defineEvent("note.added", Schema.Struct({}))
const tables = { migrations: [] }

describe("a plugin by itself", () => {
  it.each<readonly [string, Candidate, string | undefined]>([
    ["may say as little as a name", built("notes"), undefined],
    ["may have numbers in its name", built("a2a-notes2"), undefined],
    ["has a name in kebab-case", built("Notes"), 'The name "Notes" is not one of at most 40 characters in kebab-case.'],
    ["has no name of two dashes", built("a--b"), 'The name "a--b" is not one of at most 40 characters in kebab-case.'],
    ["is not the core", built("core"), "The name core stands for the service itself."],
    [
      "has a version that can be compared",
      built("notes", { version: "new" }),
      "The version new is not a semantic version.",
    ],
    ["runs on the engine it was made for", built("notes", { engine: ">=0.3 <1" }), undefined],
    [
      "runs on no other engine",
      built("notes", { engine: "^1.0.0" }),
      "It is made for svc ^1.0.0, and this is svc 0.3.0.",
    ],
    [
      "has an engine that can be compared",
      built("notes", { engine: "any" }),
      "The engine any is not a range of semantic versions.",
    ],
    ["answers questions that there are", built("notes", { hooks: ["tool.call"] }), undefined],
    ["is refused where it could not be loaded", { ...third("notes"), problem: "gone" }, "gone"],
  ])("%s", (_, candidate, problem) => {
    expect(ownProblems(candidate, world)).toEqual(problem === undefined ? [] : [problem])
  })

  it("learns which questions there are", () => {
    const [problem] = ownProblems(built("notes", { hooks: ["tool.cal"] }), world)
    expect(problem).toMatch(/^There is no question tool\.cal\. The questions are: steering\.decide, /)
  })
})

describe("two plugins", () => {
  it.each<readonly [string, Candidate, Candidate, ReadonlyArray<string>]>([
    ["may stand side by side", third("a", { ...tables, events: [noted] }), built("b", tables), []],
    ["cannot have one name", third("a"), built("a"), ["Two plugins are called a: a (built-in) and a (package svc-a)."]],
    [
      "cannot own one event type",
      third("a", { events: [noted] }),
      built("b", { events: [noted] }),
      ["The event type note.added belongs to b (built-in), and a (package svc-a) claims it too."],
    ],
    [
      "cannot have tables that could be each other's",
      third("notes-index", tables),
      built("notes", tables),
      [
        "The tables of notes-index (package svc-notes-index) begin with notes_index_ and those of notes (built-in) with notes_: no one could tell them apart. Rename one of them.",
      ],
    ],
    ["may have names that begin alike without tables", third("notes-index", tables), built("notes"), []],
    ["may have prefixes of which neither begins the other", third("notesindex", tables), built("notes", tables), []],
  ])("%s", (_, candidate, earlier, problems) => {
    expect(clashes(candidate, [earlier], world)).toEqual(problems)
  })

  it("leave the core its event types", () => {
    expect(clashes(built("a", { events: [{ type: "run.started" }] }), [], world)).toEqual([
      "The event type run.started belongs to the core.",
    ])
  })
})

describe("the order of starting", () => {
  const order = (...candidates: ReadonlyArray<Candidate>) => {
    const made = startOrder(candidates)
    return {
      order: made.order.map(({ plugin }) => plugin.name),
      circles: [...made.circles].map(([{ plugin }, why]) => `${plugin.name}: ${why}`),
    }
  }
  const needs = (name: string, ...requires: ReadonlyArray<string>) => built(name, { requires })

  it.each([
    ["is the one given where nothing is required", [needs("b"), needs("a")], ["b", "a"]],
    [
      "puts first what is required, also by way of others",
      [needs("a", "b"), needs("b", "c"), needs("c")],
      ["c", "b", "a"],
    ],
    ["does not mind what is not there", [needs("a", "x"), needs("b")], ["a", "b"]],
    ["starts once what several require", [needs("a", "c"), needs("b", "c"), needs("c")], ["c", "a", "b"]],
  ] as const)("%s", (_, given, expected) => {
    expect(order(...given)).toEqual({ order: expected, circles: [] })
  })

  it("names the whole circle to each of its members, and to nobody else", () => {
    const { circles } = order(needs("out", "a"), needs("a", "b"), needs("b", "a"), needs("self", "self"))
    expect(circles).toEqual([
      "a: It requires itself: a → b → a.",
      "b: It requires itself: a → b → a.",
      "self: It requires itself: self → self.",
    ])
  })
})

describe("the settings of a plugin", () => {
  const Section = Schema.Struct({ Size: Schema.Int, Names: Schema.Array(Schema.String) })
  const plugin = definePlugin<typeof Section.Type>({
    name: "notes",
    settings: Section,
    setup: () => Effect.succeed({}),
  })
  const problems = (section: unknown) => {
    const read = readSettings(plugin, { notes: section })
    return Result.isFailure(read) ? read.failure : []
  }

  it("are its own section, decoded", () => {
    const read = readSettings(plugin, { notes: { Size: 1, Names: [] }, other: {} })
    expect(Result.getOrUndefined(read)).toEqual({ Size: 1, Names: [] })
  })

  it("are told with the path of each problem", () => {
    expect(problems({ Size: 1.5, Names: ["a", 2], Sise: 1 })).toEqual([
      "Plugins:Settings:notes:Sise: Expected no excess property.",
      "Plugins:Settings:notes:Size: Expected an integer.",
      "Plugins:Settings:notes:Names:1: Expected string.",
    ])
  })

  it("are missing where the plugin needs some and nothing is written", () => {
    expect(Result.isFailure(readSettings(plugin, {}))).toBe(true)
  })

  it("cannot be given to a plugin without any", () => {
    expect(readSettings(built("plain").plugin, { plain: { A: 1 } })).toMatchObject({
      failure: ["Plugins:Settings:plain: The plugin has no settings."],
    })
    expect(Result.isSuccess(readSettings(built("plain").plugin, {}))).toBe(true)
  })
})

describe("the faults of a plugin", () => {
  const fault = (at: number) => ({ at, kind: "hook", subject: "tool.call", message: "it threw" }) as const

  it("are too many at the fifth within a minute", () => {
    const log = makeFaultLog()
    expect([0, 1, 2, 3, 4].map((at) => log.add(fault(at * 10_000)))).toEqual([false, false, false, false, true])
    expect(faultLimit).toBe(5)
  })

  it("are not too many where the first is a minute old", () => {
    const log = makeFaultLog()
    expect([0, 1, 2, 3, faultWindow].map((at) => log.add(fault(at)))).not.toContain(true)
  })

  it("are counted anew once they are forgiven, and still shown", () => {
    const log = makeFaultLog()
    for (let n = 0; n < 4; n++) log.add(fault(n))
    log.forgive()
    expect(log.add(fault(5))).toBe(false)
    expect(log.latest()).toHaveLength(5)
  })

  it("are kept up to a bound, the newest first", () => {
    const log = makeFaultLog()
    for (let n = 0; n < keptFaults + 10; n++) log.add(fault(n * faultWindow))
    expect(log.latest()).toHaveLength(keptFaults)
    expect(log.latest()[0]?.at).toBe((keptFaults + 9) * faultWindow)
  })
})
