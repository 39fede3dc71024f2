/**
 * The types of a question for a policy in AssemblyScript: classes that read themselves from JSON, or write themselves to it.
 * One of several objects becomes one class: a member that not all of them have is null where it is absent.
 */
import type { AnyQuestion } from "#core/hook.ts"
import { type Member, type Named, type Shape, shapesOf } from "#runtime/plugin-host/kit/question/shape.ts"

export const typesInAssemblyScript = (question: AnyQuestion): string => {
  const { question: name, summary, ask, answer, askTypes, answerTypes } = shapesOf(question)
  return [
    `// Written by svc for the question ${name}. Changes are lost: svc plugin build writes it again.`,
    'import { Host } from "@extism/as-pdk"',
    'import { Box, Json, Writer } from "./json"',
    "",
    `/** ${summary} */`,
    `export function ask(): ${ask} {`,
    `  return ${ask}.from(Json.parse(Host.inputString()))`,
    "}",
    "",
    `export function answer(given: ${answer}): i32 {`,
    "  const out = new Writer()",
    "  given.write(out)",
    "  return reply(out.text())",
    "}",
    "",
    "/** The next policy is asked, and in the end the service itself. */",
    "export function noOpinion(): i32 {",
    '  return reply("null")',
    "}",
    "",
    "function reply(text: string): i32 {",
    "  // outputString counts characters where bytes are meant",
    "  Host.output(Uint8Array.wrap(String.UTF8.encode(text)))",
    "  return 0",
    "}",
    "",
    ...askTypes.flatMap((type) => [...classOf(flat(type), { read: true, written: has(answerTypes, type) }), ""]),
    ...answerTypes
      .filter((type) => !has(askTypes, type))
      .flatMap((type) => [...classOf(flat(type), { read: false, written: true }), ""]),
    ...(answer === "GuardAnswer" ? guardWords : []),
  ].join("\n")
}

/** Is a type of one side also one of the other? */
const has = (types: ReadonlyArray<Named>, { name }: Named): boolean => types.some((type) => type.name === name)

const guardWords = [
  "export function allow(): i32 {",
  "  const given = new GuardAnswer()",
  '  given.decision = "allow"',
  "  return answer(given)",
  "}",
  "",
  "/** The reason is for whoever is refused: what was not allowed, and what to do instead. */",
  "export function refuse(reason: string): i32 {",
  "  const given = new GuardAnswer()",
  '  given.decision = "refuse"',
  "  given.reason = reason",
  "  return answer(given)",
  "}",
  "",
]

interface Flat {
  readonly name: string
  readonly members: ReadonlyArray<Member>
}

const flat = ({ name, variants }: Named): Flat => {
  const names = [...new Set(variants.flatMap((variant) => variant.map((member) => member.name)))]
  return {
    name,
    members: names.flatMap((wanted) => {
      const found = variants.flatMap((variant) => variant.filter((member) => member.name === wanted))
      const [first] = found
      if (first === undefined) return []
      const optional = first.optional || found.length < variants.length
      return [{ ...first, shape: merged(found.map(({ shape }) => shape)), optional }]
    }),
  }
}

/** Of members with one name: texts may each be one of several. */
const merged = (shapes: ReadonlyArray<Shape>): Shape => {
  const texts = shapes.filter((shape) => shape.kind === "text")
  const [first] = shapes
  if (first === undefined) throw new Error("A member has no shape")
  return texts.length < shapes.length ? first : { kind: "text", oneOf: texts.flatMap(({ oneOf }) => oneOf) }
}

const classOf = (
  { name, members }: Flat,
  { read, written }: { readonly read: boolean; readonly written: boolean },
): ReadonlyArray<string> => [
  `export class ${name} {`,
  ...members.flatMap(field),
  ...(read
    ? [
        "",
        `  static from(json: Json): ${name} {`,
        `    const made = new ${name}()`,
        ...members.flatMap((each) => reading(`made.${each.name}`, each.name, each.shape, each.optional)),
        "    return made",
        "  }",
      ]
    : []),
  ...(written
    ? [
        "",
        "  write(out: Writer): void {",
        '    out.open("{")',
        ...members.flatMap((each) => writing(`this.${each.name}`, each.name, each.shape, each.optional)),
        '    out.close("}")',
        "  }",
      ]
    : []),
  "}",
]

const field = ({ name, shape, optional, description }: Member): ReadonlyArray<string> => {
  const choices = shape.kind === "text" && shape.oneOf.length > 0 ? `One of: ${shape.oneOf.join(", ")}.` : undefined
  const comment = [description, choices].filter((line) => line !== undefined).join(" ")
  return [
    ...(comment === "" ? [] : [`  /** ${comment} */`]),
    `  ${name}: ${typeOf(shape, optional)} = ${initial(shape, optional)}`,
  ]
}

const plain = (shape: Shape): string => {
  switch (shape.kind) {
    case "text":
      return "string"
    case "integer":
      return "i64"
    case "number":
      return "f64"
    case "boolean":
      return "bool"
    case "anything":
      return "Json"
    case "list":
      return `${plain(shape.of)}[]`
    case "named":
      return shape.name
    case "nullable":
      return typeOf(shape.of, true)
  }
}

/** Numbers cannot be null: those that may be absent are in a box. */
const boxed = ({ kind }: Shape): boolean => kind === "integer" || kind === "number" || kind === "boolean"

const typeOf = (shape: Shape, absent: boolean): string => {
  if (shape.kind === "nullable") return typeOf(shape.of, true)
  if (!absent) return plain(shape)
  return boxed(shape) ? `Box<${plain(shape)}> | null` : `${plain(shape)} | null`
}

const initial = (shape: Shape, absent: boolean): string => {
  if (absent || shape.kind === "nullable") return "null"
  switch (shape.kind) {
    case "text":
      return '""'
    case "integer":
    case "number":
      return "0"
    case "boolean":
      return "false"
    case "anything":
      return "Json.absent"
    case "list":
      return "[]"
    case "named":
      return `new ${shape.name}()`
  }
}

const fromJson = (shape: Shape, json: string): string => {
  switch (shape.kind) {
    case "text":
      return `${json}.text`
    case "integer":
      return `i64(${json}.number)`
    case "number":
      return `${json}.number`
    case "boolean":
      return `${json}.truth`
    case "anything":
      return json
    case "named":
      return `${shape.name}.from(${json})`
    case "list":
    case "nullable":
      throw new Error(`A list of ${shape.kind} has no class`)
  }
}

const reading = (target: string, member: string, shape: Shape, absent: boolean): ReadonlyArray<string> => {
  const json = `json.member("${member}")`
  const inner = shape.kind === "nullable" ? shape.of : shape
  const lines =
    inner.kind === "list"
      ? [
          `const listed: ${plain(inner)} = []`,
          `for (let at = 0; at < ${json}.items.length; at++) listed.push(${fromJson(inner.of, `${json}.items[at]`)})`,
          `${target} = listed`,
        ]
      : absent || shape.kind === "nullable"
        ? [`${target} = ${boxed(inner) ? `new Box<${plain(inner)}>(${fromJson(inner, json)})` : fromJson(inner, json)}`]
        : [`${target} = ${fromJson(inner, json)}`]
  if (absent || shape.kind === "nullable") {
    return [`    if (!${json}.isNothing) {`, ...lines.map((line) => `      ${line}`), "    }"]
  }
  return inner.kind === "list"
    ? ["    {", ...lines.map((line) => `      ${line}`), "    }"]
    : lines.map((l) => `    ${l}`)
}

const written = (shape: Shape, value: string): string => {
  switch (shape.kind) {
    case "text":
      return `out.string(${value})`
    case "integer":
      return `out.raw(${value}.toString())`
    case "number":
      return `out.number(${value})`
    case "boolean":
      return `out.raw(${value} ? "true" : "false")`
    case "named":
      return `${value}.write(out)`
    case "anything":
    case "list":
    case "nullable":
      throw new Error(`An answer cannot have ${shape.kind} here`)
  }
}

const writing = (source: string, member: string, shape: Shape, absent: boolean): ReadonlyArray<string> => {
  const inner = shape.kind === "nullable" ? shape.of : shape
  const name = `out.name("${member}")`
  const lines = (value: string): ReadonlyArray<string> =>
    inner.kind === "list"
      ? [
          'out.open("[")',
          `for (let at = 0; at < ${value}.length; at++) { out.item(); ${written(inner.of, `${value}[at]`)} }`,
          'out.close("]")',
        ]
      : [written(inner, boxed(inner) && (absent || shape.kind === "nullable") ? `${value}.value` : value)]
  if (!absent && shape.kind !== "nullable") return [`    ${name}`, ...lines(source).map((line) => `    ${line}`)]
  const local = `${member}Given`
  return [
    `    const ${local} = ${source}`,
    `    if (${local} !== null) {`,
    ...[name, ...lines(local)].map((line) => `      ${line}`),
    ...(absent ? ["    }"] : ["    } else {", `      ${name}`, '      out.raw("null")', "    }"]),
  ]
}
