/**
 * What keeps a plugin from being started, found without running it. Every problem names both sides and says what
 * would help. Of two plugins that clash the earlier one stays: the built-in ones first, then in the order of the settings.
 */
import { Result, Schema, SchemaIssue } from "effect"
import { satisfies, valid, validRange } from "semver"
import type { AnyQuestion } from "#core/hook.ts"
import { maxPluginName, type Plugin, pluginNameForm, tablePrefix } from "#core/plugin.ts"
import { type Candidate, labelOf } from "#runtime/plugin-host/candidate.ts"

/** Names that stand for the service itself. */
const reserved: ReadonlySet<string> = new Set(["core", "built-in", "svc", "gateway", "runtime"])

export interface World {
  /** Of the service. */
  readonly version: string
  readonly questions: ReadonlyArray<AnyQuestion>
  /** Event types that the core owns. */
  readonly coreEvents: ReadonlyArray<string>
}

type Problems = ReadonlyArray<string>

/** What is wrong with the plugin by itself. */
export const ownProblems = ({ plugin, problem }: Candidate, world: World): Problems => [
  ...(problem === undefined ? [] : [problem]),
  ...nameProblems(plugin),
  ...versionProblems(plugin, world.version),
  ...(plugin.hooks ?? []).flatMap((name) => questionProblem(name, world.questions)),
]

const nameProblems = ({ name }: Plugin): Problems => {
  if (!pluginNameForm.test(name) || name.length > maxPluginName) {
    return [`The name ${JSON.stringify(name)} is not one of at most ${maxPluginName} characters in kebab-case.`]
  }
  return reserved.has(name) ? [`The name ${name} stands for the service itself.`] : []
}

const versionProblems = ({ version: own, engine }: Plugin, service: string): Problems => {
  const problems: Array<string> = []
  if (own !== undefined && valid(own) === null) problems.push(`The version ${own} is not a semantic version.`)
  if (engine === undefined) return problems
  if (validRange(engine) === null) return [...problems, `The engine ${engine} is not a range of semantic versions.`]
  return satisfies(service, engine, { includePrerelease: true })
    ? problems
    : [...problems, `It is made for svc ${engine}, and this is svc ${service}.`]
}

export const questionProblem = (name: string, questions: ReadonlyArray<AnyQuestion>): Problems =>
  questions.some((known) => known.name === name)
    ? []
    : [`There is no question ${name}. The questions are: ${questions.map((known) => known.name).join(", ")}.`]

/** What it and the plugins that came before it cannot both have. */
export const clashes = (candidate: Candidate, earlier: ReadonlyArray<Candidate>, world: World): Problems => [
  ...(candidate.plugin.events ?? []).flatMap(({ type }) =>
    world.coreEvents.includes(type) ? [`The event type ${type} belongs to the core.`] : [],
  ),
  ...earlier.flatMap((other) => clashesWith(candidate, other)),
]

const clashesWith = (candidate: Candidate, other: Candidate): Problems => {
  if (candidate.plugin.name === other.plugin.name) {
    return [`Two plugins are called ${candidate.plugin.name}: ${labelOf(other)} and ${labelOf(candidate)}.`]
  }
  const types = new Set((other.plugin.events ?? []).map(({ type }) => type))
  const shared = (candidate.plugin.events ?? []).filter(({ type }) => types.has(type))
  return [
    ...shared.map(
      ({ type }) => `The event type ${type} belongs to ${labelOf(other)}, and ${labelOf(candidate)} claims it too.`,
    ),
    ...prefixClash(candidate, other),
  ]
}

/** `memory_` and `memory_index_`: a table of the second could be one of the first. */
const prefixClash = (candidate: Candidate, other: Candidate): Problems => {
  if (candidate.plugin.migrations === undefined || other.plugin.migrations === undefined) return []
  const [mine, theirs] = [tablePrefix(candidate.plugin.name), tablePrefix(other.plugin.name)]
  return mine.startsWith(theirs) || theirs.startsWith(mine)
    ? [
        `The tables of ${labelOf(candidate)} begin with ${mine} and those of ${labelOf(other)} with ${theirs}: no one could tell them apart. Rename one of them.`,
      ]
    : []
}

const formatIssue = SchemaIssue.makeFormatterStandardSchemaV1()

/** The decoded section, or each problem with its path, as the other settings tell them. */
export const readSettings = (
  { name, settings }: Plugin,
  sections: Readonly<Record<string, unknown>>,
): Result.Result<unknown, Problems> => {
  const written = Object.hasOwn(sections, name) ? sections[name] : undefined
  const section = `Plugins:Settings:${name}`
  if (settings === undefined) {
    return written === undefined ? Result.succeed(undefined) : Result.fail([`${section}: The plugin has no settings.`])
  }
  const decoded = Schema.decodeResult(settings)(written ?? {}, { errors: "all", onExcessProperty: "error" })
  return Result.mapError(decoded, ({ issue }) =>
    formatIssue(issue).issues.map(
      ({ path = [], message }) => `${[section, ...path.map(String)].join(":")}: ${message}.`,
    ),
  )
}
