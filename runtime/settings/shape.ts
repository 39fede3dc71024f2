/**
 * The settings schema as a tree of sections, lists and values: what the readers of files and variables
 * need to know of a name before there is anything to decode.
 */
import { Result, Schema, SchemaAST, type SchemaIssue } from "effect"
import { SettingsSchema } from "#core/settings.ts"

export interface Section {
  readonly kind: "section"
  readonly description: string
  readonly keys: ReadonlyMap<string, Shape>
}

export interface List {
  readonly kind: "list"
  readonly description: string
  readonly entry: Shape
}

/** A section whose keys are free, such as headers. */
export interface Names {
  readonly kind: "names"
  readonly description: string
  readonly value: Shape
}

export interface Value {
  readonly kind: "value"
  readonly description: string
  readonly type: "text" | "number" | "flag"
  readonly secret: boolean
  /** What is wrong with a value by itself, without its neighbours. */
  readonly issueOf: (value: unknown) => SchemaIssue.Issue | undefined
}

/** A value of any form: what is in it is known elsewhere, and never shown. */
export interface Free {
  readonly kind: "free"
  readonly description: string
}

export type Shape = Section | List | Names | Value | Free

/** One value inside a free one. */
export const freeValue: Value = {
  kind: "value",
  description: "",
  type: "text",
  secret: true,
  issueOf: () => undefined,
}

/** A place in the settings: names of sections and keys, and indexes of lists. */
export type Path = ReadonlyArray<string | number>

/** As the interface writes it: `Auth:Keys:0:Token`. */
export const pathText = (path: Path): string => path.join(":")

const descriptionOf = (ast: SchemaAST.AST): string => {
  const description = SchemaAST.resolve(ast)?.description
  return typeof description === "string" ? description : ""
}

/** Fails (a defect) for a schema that settings have no form for, such as a union of two objects. */
export const shapeOf = (ast: SchemaAST.AST): Shape => {
  const description = descriptionOf(ast)
  switch (ast._tag) {
    case "Objects": {
      const names = ast.indexSignatures[0]
      if (names !== undefined) return { kind: "names", description, value: shapeOf(names.type) }
      return {
        kind: "section",
        description,
        keys: new Map(ast.propertySignatures.map((key) => [String(key.name), shapeOf(key.type)])),
      }
    }
    case "Arrays": {
      const entry = ast.rest[0]
      if (entry === undefined) throw new Error("a list of settings needs one schema for all its entries")
      return { kind: "list", description, entry: shapeOf(entry) }
    }
    case "Unknown":
      return { kind: "free", description }
    default: {
      const decode = Schema.decodeUnknownResult(Schema.make<Schema.Codec<unknown>>(ast))
      return {
        kind: "value",
        description,
        type: typeOf(SchemaAST.toEncoded(ast)),
        secret: ast._tag === "Declaration",
        issueOf: (value) => {
          const decoded = decode(value)
          return Result.isFailure(decoded) ? decoded.failure.issue : undefined
        },
      }
    }
  }
}

const typeOf = (encoded: SchemaAST.AST): Value["type"] => {
  switch (encoded._tag) {
    case "Number":
      return "number"
    case "Boolean":
      return "flag"
    case "String":
    case "Declaration": // a secret whose encoding a surrounding transformation has hidden
      return "text"
    case "Union":
      if (encoded.types.every((type) => type._tag === "Literal" && typeof type.literal === "string")) return "text"
  }
  throw new Error(`settings have no form for ${encoded._tag}`)
}

const root = shapeOf(SettingsSchema.ast)
if (root.kind !== "section") throw new Error("the settings are one section")

export const settingsShape: Section = root

/** The value that `path` leads to; undefined where it leads to a section, a list, or nowhere. */
export const valueAt = (path: Path): Value | undefined => {
  let shape: Shape | undefined = settingsShape
  for (const part of path) {
    if (shape?.kind === "section") shape = shape.keys.get(String(part))
    else if (shape?.kind === "list") shape = shape.entry
    else if (shape?.kind === "names") shape = shape.value
    else if (shape?.kind !== "free") return undefined
  }
  if (shape?.kind === "free") return freeValue
  return shape?.kind === "value" ? shape : undefined
}
