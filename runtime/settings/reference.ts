/** docs/settings.md, written from the schema: what it says is what the service reads. */
import { Schema } from "effect"
import { SettingsSchema } from "#core/settings.ts"

interface Node {
  readonly type?: string
  readonly description?: string
  readonly default?: unknown
  readonly enum?: ReadonlyArray<unknown>
  readonly minimum?: number
  readonly maximum?: number
  readonly properties?: Readonly<Record<string, Node>>
  readonly items?: Node
  readonly allOf?: ReadonlyArray<Node>
  readonly $ref?: string
}

interface Row {
  readonly key: string
  readonly node: Node
}

/** Every setting that has a value of its own, by its full name. */
const rowsOf = (key: string, node: Node): ReadonlyArray<Row> =>
  node.properties === undefined
    ? [{ key, node }]
    : Object.entries(node.properties).flatMap(([name, part]) => rowsOf(key === "" ? name : `${key}:${name}`, part))

const valuesOf = ({ type, enum: choices, minimum, maximum, items }: Node): string => {
  if (choices !== undefined) return choices.map((choice) => `\`${choice}\``).join(", ")
  if (minimum !== undefined && maximum !== undefined) return `${minimum} to ${maximum}`
  if (type === "array")
    return items?.properties === undefined ? "list" : `list of { ${Object.keys(items.properties).join(", ")} }`
  return type === "string" ? "text" : type === "boolean" ? "true, false" : type === "object" ? "map" : (type ?? "")
}

const defaultOf = ({ default: fallback, type }: Node): string => {
  if (fallback === undefined) return type === "array" ? "(none)" : "(not set)"
  return `\`${typeof fallback === "string" ? fallback : JSON.stringify(fallback)}\``
}

/** A setting's constraints may stand beside it or in `allOf`. */
const flat = (node: Node): Node => Object.assign({}, ...(node.allOf ?? []), node)

const cell = (text: string): string => text.replaceAll("|", "\\|").replaceAll("\n", " ")

export const settingsReference = (): string => {
  // the schema's own document, of which only the members above are looked at
  const root = Schema.toJsonSchemaDocument(SettingsSchema, { onExcessProperty: "error" }).schema as Node
  const lines = [
    "# Settings",
    "",
    "Written by `npm run docs` from the schema. A colon in a name is a level in the file and `__` in a variable:",
    "`Server:Port` is `Server: { Port: 8080 }` in `svc.yml`, and `Server__Port=8080` in the environment, which wins.",
    "Also read: `PORT`, `SVC_DATA_DIR`, `DATABASE_URL`, `SVC_API_KEY`, `SANDBOX_PREVIEW_AUTO_APPROVE`,",
    "`OTEL_EXPORTER_OTLP_ENDPOINT`. Settings of parts that are not built yet are read and checked, and have no effect.",
  ]
  for (const [name, section] of Object.entries(root.properties ?? {})) {
    lines.push("", `## ${name}`, "")
    if (section.description !== undefined) lines.push(section.description, "")
    lines.push("| Setting | Values | Default | |", "|---|---|---|---|")
    for (const { key, node } of rowsOf(name, section)) {
      const whole = flat(node)
      lines.push(
        `| \`${key}\` | ${cell(valuesOf(whole))} | ${cell(defaultOf(whole))} | ${cell(whole.description ?? "")} |`,
      )
    }
  }
  return `${lines.join("\n")}\n`
}
