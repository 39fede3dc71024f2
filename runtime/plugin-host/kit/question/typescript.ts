/** The types of a question for a policy in TypeScript. */
import type { AnyQuestion } from "#core/hook.ts"
import { type Member, type Named, type Shape, shapesOf } from "#runtime/plugin-host/kit/question/shape.ts"
import type { IoCall } from "#runtime/plugin-host/wasm/io-request.ts"

/** `io`: what its manifest asks for. */
export const typesInTypeScript = (question: AnyQuestion, io: ReadonlyArray<IoCall> = []): string => {
  const shapes = shapesOf(question)
  const types = new Map([...shapes.askTypes, ...shapes.answerTypes].map((type) => [type.name, type]))
  return [
    `// Written by svc for the question ${shapes.question}. Changes are lost: svc plugin build writes it again.`,
    "",
    `/** ${shapes.summary} */`,
    `export type Ask = ${shapes.ask}`,
    "/** Null, or nothing at all: no opinion. The next policy is asked, and in the end the service itself. */",
    `export type Answer = ${shapes.answer} | null | undefined`,
    "",
    ...[...types.values()].flatMap((type) => [...declaration(type), ""]),
    ambient,
    ...(io.length === 0 ? [] : [notServed]),
    ...io.map((call) => ioAmbient[call]),
  ].join("\n")
}

/** What a policy has beside the language itself. */
const ambient = `declare global {
  /** A setting of the plugin, as text, where the manifest asks for it and an operator granted it. */
  function config(name: string): string | undefined
  /** Lines in the log of the service: at most 32 of one answer. */
  const console: Record<"debug" | "log" | "info" | "warn" | "error", (...values: ReadonlyArray<unknown>) => void>
}
`

const notServed = `declare global {
  /** Not done, and why: refused, failed, or too often or too much in one answer. */
  interface NotServed {
    readonly ok: false
    readonly reason: string
    readonly message: string
  }
}
`

const ioAmbient: Readonly<Record<IoCall, string>> = {
  http: `declare global {
  /** Calls an origin that the manifest names and an operator granted. Redirects are not followed. At most 8 of one answer. */
  function http(request: {
    readonly url: string
    readonly method?: "GET" | "HEAD" | "POST"
    readonly headers?: Readonly<Record<string, string>>
    readonly body?: string
    /** Milliseconds; the time limit of the answer ends it in any case. */
    readonly timeoutMs?: number
  }):
    | { readonly ok: true; readonly status: number; readonly headers: Readonly<Record<string, string>>; readonly body: string }
    | NotServed
}
`,
  kv: `declare global {
  /** What this plugin keeps from one question to the next. At most 64 calls of one answer; what is written stays, whatever is answered. */
  const kv: {
    /** Null: there is none. */
    get(key: string): { readonly ok: true; readonly value: string | null } | NotServed
    /** expected: written only where the value is this one, or where there is none (null). */
    set(key: string, value: string, expected?: string | null): { readonly ok: true; readonly done: boolean } | NotServed
    delete(key: string): { readonly ok: true; readonly done: boolean } | NotServed
  }
}
`,
}

const declaration = ({ name, variants }: Named): ReadonlyArray<string> => {
  const [only] = variants
  if (only !== undefined && variants.length === 1) return [`export interface ${name} {`, ...members(only, "  "), "}"]
  return [`export type ${name} =`, ...variants.flatMap((variant) => ["  | {", ...members(variant, "      "), "    }"])]
}

const members = (all: ReadonlyArray<Member>, indent: string): ReadonlyArray<string> =>
  all.flatMap(({ name, shape, optional, description }) => [
    ...(description === undefined ? [] : [`${indent}/** ${description} */`]),
    `${indent}readonly ${name}${optional ? "?" : ""}: ${spelled(shape)}`,
  ])

const spelled = (shape: Shape): string => {
  switch (shape.kind) {
    case "text":
      return shape.oneOf.length === 0 ? "string" : shape.oneOf.map((value) => JSON.stringify(value)).join(" | ")
    case "integer":
    case "number":
      return "number"
    case "boolean":
      return "boolean"
    case "anything":
      return "unknown"
    case "list":
      return `ReadonlyArray<${spelled(shape.of)}>`
    case "named":
      return shape.name
    case "nullable":
      return `${spelled(shape.of)} | null`
  }
}
