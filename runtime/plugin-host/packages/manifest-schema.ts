/**
 * The form of `plugin.json`: a portable root that other hosts read too, and `extensions.svc`, which is ours. The root may hold
 * what other hosts understand; in our own part nothing unknown is let through, so that a misspelt permission is never silent.
 */
import { Effect, Schema } from "effect"
import { valid, validRange } from "semver"
import { defaultPriority, failures } from "#core/hook/handler.ts"
import { maxPluginName, pluginNameForm } from "#core/plugin.ts"
import { questionNamed, questions } from "#policies/questions.ts"
import { type Budget, defaultBudget, leastBudget } from "#runtime/plugin-host/packages/budget.ts"
import { noPermissions, Permissions } from "#runtime/plugin-host/packages/permissions.ts"
import { pageBytes } from "#runtime/plugin-host/wasm/limits.ts"

/** The policy interface that this version speaks: JSON in and out by the host functions of wasm/extism-abi.ts. */
export const abi = 1

/** A file beside the manifest, and nowhere else. */
export const entryForm = /^\.\/[A-Za-z0-9][A-Za-z0-9._-]{0,99}\.wasm$/

/** Of the portable form: at most 64 characters, no two dashes or dots in a row. */
const portableName = /^(?!.*(?:--|\.\.))[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?$/
const maxPortableName = 64

const text = (most: number) => Schema.String.check(Schema.isMinLength(1), Schema.isMaxLength(most))

const Name = Schema.String.annotate({ description: "Unique among the plugins of a service." }).check(
  Schema.isMaxLength(maxPortableName),
  Schema.isPattern(portableName, { expected: "a name of small letters, digits, single dashes and single dots" }),
  Schema.makeFilter((name: string) =>
    // it is also a key of the settings and the beginning of a table's name
    (pluginNameForm.test(name) && name.length <= maxPluginName) || !portableName.test(name)
      ? undefined
      : `Expected at most ${maxPluginName} characters in kebab-case, as svc names plugins`,
  ),
)

const Version = Schema.String.check(
  Schema.isMaxLength(100),
  Schema.makeFilter((version: string) =>
    valid(version) === version ? undefined : "Expected a semantic version: 1.0.0",
  ),
)

const Engine = Schema.String.annotate({
  description: "Versions of svc that it works with, as a range of semantic versions.",
}).check(
  Schema.isMaxLength(200),
  Schema.makeFilter((range: string) =>
    validRange(range) === null ? "Expected a range of semantic versions: ^1.2 or >=1.2 <3" : undefined,
  ),
)

const Hooks = Schema.Record(
  Schema.String,
  Schema.String.check(
    Schema.isPattern(/^[A-Za-z_][A-Za-z0-9_.-]{0,127}$/, { expected: "the name of an exported function" }),
  ),
)
  .annotate({ description: "Each question that it answers, with the exported function that does." })
  .check(
    Schema.makeFilter((hooks: Readonly<Record<string, string>>) => {
      const names = Object.keys(hooks)
      if (names.length === 0) return "Expected at least one question"
      const known = questions.map(({ name }) => name).join(", ")
      return names
        .filter((name) => questionNamed(name) === undefined)
        .map((name) => ({ path: [name], issue: `There is no such question; the questions are: ${known}` }))
    }),
  )

const amount = (key: keyof Budget, description: string, multipleOf = 1) =>
  Schema.Int.annotate({ description, default: defaultBudget[key] })
    .check(
      Schema.isGreaterThanOrEqualTo(leastBudget[key]),
      ...(multipleOf === 1 ? [] : [Schema.isMultipleOf(multipleOf)]),
    )
    .pipe(Schema.withDecodingDefaultKey(Effect.succeed(defaultBudget[key])))

const Limits = Schema.Struct({
  memory: amount("memory", "Bytes of memory, a multiple of 65,536.", pageBytes),
  fuel: amount("fuel", "Units of fuel for one answer: about one for each instruction."),
  input: amount("input", "Bytes of a question."),
  output: amount("output", "Bytes of an answer."),
  wallClock: amount(
    "wallClock",
    "Milliseconds until it is given up: waiting for an instance, and the answer where it runs in threads of its own. In the service's thread, fuel alone bounds an answer.",
  ),
})

const optionalPart = <S extends Schema.Top>(schema: S, fallback: S["Encoded"]) =>
  schema.pipe(Schema.withDecodingDefaultKey(Effect.succeed(fallback)))

export const policyModes = ["enforce", "shadow", "disabled"] as const

/** Our part of the manifest. */
export const SvcPart = Schema.Struct({
  kind: Schema.Literal("wasm"),
  abi: Schema.Literal(abi),
  engine: Engine,
  entry: Schema.String.annotate({ description: "The module, beside the manifest: ./policy.wasm" }).check(
    Schema.isPattern(entryForm, { expected: "a file beside it: ./policy.wasm" }),
  ),
  sha256: Schema.String.annotate({ description: "SHA-256 of the module, in lower-case hexadecimal." }).check(
    Schema.isPattern(/^[0-9a-f]{64}$/, { expected: "64 lower-case hexadecimal digits" }),
  ),
  hooks: Hooks,
  priority: optionalPart(
    Schema.Int.annotate({ description: "Smaller is asked first.", default: defaultPriority }).check(
      Schema.isBetween({ minimum: 0, maximum: 10_000 }),
    ),
    defaultPriority,
  ),
  mode: optionalPart(
    Schema.Literals(policyModes).annotate({
      description: "shadow: it is asked and recorded beside the others, and not listened to.",
      default: "enforce",
    }),
    "enforce",
  ),
  failure: optionalPart(
    Schema.Literals(failures).annotate({
      description:
        "What counts where it cannot answer: closed, the safe answer; open, the next in line. Guards and rai.review are always closed.",
      default: "closed",
    }),
    "closed",
  ),
  permissions: optionalPart(Permissions, noPermissions),
  limits: optionalPart(Limits, {}),
  settings: Schema.optionalKey(
    Schema.Record(Schema.String, Schema.Unknown).annotate({ description: "JSON Schema of the plugin's settings." }),
  ),
})
export type SvcPart = typeof SvcPart.Type

const rootFields = {
  $schema: text(300),
  name: Name,
  version: Version,
  description: Schema.optionalKey(text(1_000)),
}

/** What of the root matters here; the rest is other hosts' business, and signed with it all the same. */
export const Root = Schema.Struct({ ...rootFields, extensions: Schema.Struct({ svc: Schema.Unknown }) })
export type Root = typeof Root.Type

/** For editors: JSON Schema 2020-12 of `plugin.json`. */
export const manifestJsonSchema = () => {
  const root = Schema.toJsonSchemaDocument(Schema.Struct(rootFields), { onExcessProperty: "ignore" })
  const part = Schema.toJsonSchemaDocument(SvcPart, { onExcessProperty: "error" })
  const definitions = { ...root.definitions, ...part.definitions }
  const { properties, required, ...rest } = root.schema
  return {
    $schema: "https://json-schema.org/draft/2020-12/schema",
    title: "plugin.json of a policy for svc",
    ...rest,
    // the document that was just made of a struct
    required: [...(required as ReadonlyArray<string>), "extensions"],
    properties: {
      ...(properties as Record<string, unknown>),
      extensions: { type: "object", required: ["svc"], properties: { svc: part.schema } },
    },
    ...(Object.keys(definitions).length === 0 ? {} : { $defs: definitions }),
  }
}
