/**
 * The two sides of a question as the few shapes that generators of types know. Reads what `questionSchema` writes, and fails on
 * what it does not know: a type that says less than the schema would be believed.
 */
import { Predicate } from "effect"
import { type AnyQuestion, questionSchema } from "#core/hook.ts"

export type Shape =
  | { readonly kind: "text"; readonly oneOf: ReadonlyArray<string> }
  | { readonly kind: "integer" | "number" | "boolean" | "anything" }
  | { readonly kind: "list"; readonly of: Shape }
  | { readonly kind: "named"; readonly name: string }
  | { readonly kind: "nullable"; readonly of: Shape }

export interface Member {
  readonly name: string
  readonly shape: Shape
  readonly optional: boolean
  readonly description: string | undefined
}

/** An object, or one of several objects. */
export interface Named {
  readonly name: string
  readonly variants: ReadonlyArray<ReadonlyArray<Member>>
}

export interface QuestionShapes {
  readonly question: string
  readonly summary: string
  /** Name of the type of each side. */
  readonly ask: string
  readonly answer: string
  /** All that the sides are made of, in the order in which they are met. */
  readonly askTypes: ReadonlyArray<Named>
  readonly answerTypes: ReadonlyArray<Named>
}

/** `steering.decide` → `Steering`, of which the sides are `SteeringAsk` and `SteeringAnswer` unless the schema names them. */
const titleOf = (question: string): string => question.split(/[.-]/).map(capital).join("")

const capital = (word: string): string => word.charAt(0).toUpperCase() + word.slice(1)

export const shapesOf = (question: AnyQuestion): QuestionShapes => {
  const { ask, answer, summary } = questionSchema(question)
  const title = titleOf(question.name)
  const asked = new Collector(ask)
  const answered = new Collector(answer)
  return {
    question: question.name,
    summary,
    ask: asked.root(`${title}Ask`),
    answer: answered.root(`${title}Answer`),
    askTypes: asked.types(),
    answerTypes: answered.types(),
  }
}

type Json = Readonly<Record<string, unknown>>

const isObject = (value: unknown): value is Json => Predicate.isObject(value) && !Array.isArray(value)
const isNull = (schema: Json): boolean => schema.type === "null"

class Collector {
  readonly #definitions: Json
  readonly #document: Json
  readonly #found = new Map<string, Named | undefined>()

  constructor(document: Json) {
    this.#document = document
    this.#definitions = isObject(document.$defs) ? document.$defs : {}
  }

  root(name: string): string {
    const shape = this.#shape(this.#document, name)
    if (shape.kind !== "named") throw unknown(this.#document)
    return shape.name
  }

  types(): ReadonlyArray<Named> {
    return [...this.#found.values()].filter((found) => found !== undefined)
  }

  #shape(schema: unknown, path: string): Shape {
    if (!isObject(schema)) throw unknown(schema)
    if (typeof schema.$ref === "string") return this.#reference(schema.$ref)
    if (Array.isArray(schema.anyOf)) return this.#union(schema.anyOf, path)
    switch (schema.type) {
      case "string":
        return { kind: "text", oneOf: Array.isArray(schema.enum) ? schema.enum.map(String) : [] }
      case "integer":
      case "number":
      case "boolean":
        return { kind: schema.type }
      case "array":
        return { kind: "list", of: this.#shape(schema.items ?? {}, path.replace(/ies$/, "y").replace(/s$/, "")) }
      case "object":
        return this.#object([schema], path)
      case undefined:
        return { kind: "anything" }
    }
    throw unknown(schema)
  }

  #reference(reference: string): Shape {
    const name = reference.replace("#/$defs/", "")
    if (!this.#found.has(name)) {
      // its place is kept, so that a type that holds itself ends here
      this.#found.set(name, undefined)
      const shape = this.#shape(this.#definitions[name], name)
      if (shape.kind !== "named") throw unknown(this.#definitions[name])
    }
    return { kind: "named", name }
  }

  #union(members: ReadonlyArray<unknown>, path: string): Shape {
    const schemas = members.filter(isObject)
    const present = schemas.filter((schema) => !isNull(schema))
    const [only] = present
    const of = present.length === 1 ? this.#shape(only, path) : this.#object(present, path)
    return present.length < schemas.length ? { kind: "nullable", of } : of
  }

  #object(variants: ReadonlyArray<Json>, name: string): Shape {
    if (this.#found.get(name) !== undefined) throw new Error(`Two types of a question are both called ${name}`)
    this.#found.set(name, undefined)
    this.#found.set(name, { name, variants: variants.map((variant) => this.#members(variant, name)) })
    return { kind: "named", name }
  }

  #members(schema: Json, owner: string): ReadonlyArray<Member> {
    if (schema.type !== "object" || !isObject(schema.properties)) throw unknown(schema)
    const required = Array.isArray(schema.required) ? schema.required : []
    return Object.entries(schema.properties).map(([name, member]) => ({
      name,
      shape: this.#shape(member, owner + capital(name)),
      optional: !required.includes(name),
      description: isObject(member) && typeof member.description === "string" ? member.description : undefined,
    }))
  }
}

const unknown = (schema: unknown) => new Error(`No type is known for ${JSON.stringify(schema)}`)
