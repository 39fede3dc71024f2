/**
 * Reads `plugin.json`: every problem at once, each with its path. What was read is valid for this service: its questions exist, its
 * limits are within the operator's ceiling. Whether the module is what it says is package.ts's business.
 */
import { Effect, Result, Schema, SchemaIssue, SchemaRepresentation } from "effect"
import { satisfies } from "semver"
import { canonicalJson, sha256 } from "#core/canonical-json.ts"
import type { Issue } from "#core/refusal.ts"
import { parseJson } from "#gateway/json.ts"
import { type Budget, defaultCeiling } from "#runtime/plugin-host/packages/budget.ts"
import { type Root, Root as RootSchema, SvcPart } from "#runtime/plugin-host/packages/manifest-schema.ts"

export interface Manifest extends SvcPart {
  readonly name: string
  readonly version: string
  readonly description: string | undefined
  /** All of the document as RFC 8785 writes it: what is signed. */
  readonly canonical: string
  /** `sha256:…` of `canonical`: what the lock file pins. */
  readonly digest: string
}

export interface ManifestWorld {
  /** Of the service. */
  readonly version: string
  readonly ceiling?: Budget
}

/** Bytes of a manifest. */
export const maxManifestBytes = 64 * 1024

export const readManifest = (
  bytes: Uint8Array,
  { version: service, ceiling = defaultCeiling }: ManifestWorld,
): Result.Result<Manifest, ReadonlyArray<Issue>> => {
  const parsed = parse(bytes)
  if (Result.isFailure(parsed)) return Result.fail(parsed.failure)
  const root = decode(RootSchema, parsed.success, [], "ignore")
  const svc = decode(SvcPart, partOf(parsed.success), ["extensions", "svc"], "error")
  if (Result.isFailure(root) || Result.isFailure(svc)) {
    const problems = [...failuresOf(root), ...(partOf(parsed.success) === undefined ? [] : failuresOf(svc))]
    return Result.fail(problems)
  }
  const unfit = unfitFor(root.success, svc.success, service, ceiling)
  if (unfit.length > 0) return Result.fail(unfit)
  const canonical = canonicalJson(parsed.success)
  const { name, version, description } = root.success
  return Result.succeed({ ...svc.success, name, version, description, canonical, digest: sha256(canonical) })
}

/** A schema for the plugin's section of the settings; undefined where it has none. Fails with why it cannot be used. */
export const settingsSchemaOf = (
  settings: Readonly<Record<string, unknown>> | undefined,
): Result.Result<Schema.Codec<unknown, unknown> | undefined, string> => {
  if (settings === undefined) return Result.succeed(undefined)
  return Result.try({
    try: () =>
      // plain JSON that was decoded as a record; a pattern of the author's could take for ever, and is refused
      SchemaRepresentation.fromJsonSchemaDocument({
        dialect: "draft-2020-12",
        schema: withoutDefinitions(settings),
        definitions: definitionsOf(settings),
        // a schema made of JSON Schema decodes JSON to JSON and needs no services
      }) as unknown as Schema.Codec<unknown, unknown>,
    catch: (error) => (error instanceof Error ? error.message : String(error)),
  })
}

const withoutDefinitions = ({ $defs: _, ...schema }: Readonly<Record<string, unknown>>) => schema

const definitionsOf = ({ $defs }: Readonly<Record<string, unknown>>): Record<string, Record<string, unknown>> =>
  // of the author's making: what is no schema in there is refused by the translation
  typeof $defs === "object" && $defs !== null ? ($defs as Record<string, Record<string, unknown>>) : {}

const parse = (bytes: Uint8Array): Result.Result<unknown, ReadonlyArray<Issue>> => {
  if (bytes.length > maxManifestBytes) {
    return Result.fail([{ path: "", message: `Expected at most ${maxManifestBytes} bytes, got ${bytes.length}` }])
  }
  const parsed = Effect.runSync(Effect.result(parseJson(bytes)))
  return Result.mapError(parsed, ({ message, issues }) => {
    const [issue] = issues ?? []
    return [
      issue === undefined
        ? { path: "", message: message.replace("The body", "The manifest") }
        : { ...issue, path: issue.path.replace(/^body\.?/, "") },
    ]
  })
}

const partOf = (value: unknown): unknown => {
  const isObject = (given: unknown): given is Readonly<Record<string, unknown>> =>
    typeof given === "object" && given !== null
  return isObject(value) && isObject(value.extensions) ? value.extensions.svc : undefined
}

const formatIssue = SchemaIssue.makeFormatterStandardSchemaV1()

const decode = <T>(
  schema: Schema.Codec<T, unknown>,
  value: unknown,
  at: ReadonlyArray<string>,
  onExcessProperty: "error" | "ignore",
): Result.Result<T, ReadonlyArray<Issue>> =>
  Result.mapError(Schema.decodeUnknownResult(schema)(value, { errors: "all", onExcessProperty }), ({ issue }) =>
    formatIssue(issue).issues.map(({ path = [], message }) => ({
      path: [...at, ...path.map(String)].join("."),
      message,
    })),
  )

const failuresOf = <T>(result: Result.Result<T, ReadonlyArray<Issue>>): ReadonlyArray<Issue> =>
  Result.isFailure(result) ? result.failure : []

/** What is well-formed, and still cannot run here. */
const unfitFor = (root: Root, part: SvcPart, service: string, ceiling: Budget): ReadonlyArray<Issue> => {
  const at = (path: string, message: string): Issue => ({ path: `extensions.svc.${path}`, message })
  const settings = settingsSchemaOf(part.settings)
  const names = Object.keys(ceiling) as ReadonlyArray<keyof Budget> // the keys of the interface, and no others
  return [
    ...(satisfies(service, part.engine, { includePrerelease: true })
      ? []
      : [at("engine", `${root.name} is made for svc ${part.engine}, and this is svc ${service}`)]),
    ...names
      .filter((name) => part.limits[name] > ceiling[name])
      .map((name) => at(`limits.${name}`, `Expected at most ${ceiling[name]}, which is this service's ceiling`)),
    ...(Result.isFailure(settings) ? [at("settings", `It cannot be used: ${settings.failure}`)] : []),
  ]
}
