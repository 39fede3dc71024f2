/** Holds the import rule of docs/architecture.md: who may import whom, and no cycles between files. */
import { readFileSync } from "node:fs"
import { glob } from "node:fs/promises"
import { dirname, join, relative, resolve } from "node:path"
import { fileURLToPath } from "node:url"
import { describe, expect, it } from "vitest"

const root = resolve(dirname(fileURLToPath(import.meta.url)), "..")

/** Top-level folder → folders (or files below them) that its files may import. */
const mayImport: Record<string, ReadonlyArray<string>> = {
  core: ["core"],
  policies: ["policies", "core"],
  plugins: ["plugins", "policies", "core"],
  gateway: ["gateway", "core"],
  "sandbox-agent": ["sandbox-agent", "core/wire"],
  runtime: ["runtime", "gateway", "plugins", "policies", "core", "sandbox-agent"],
}

/** What each folder may take from npm and Node where that is part of the rule. */
const mustNotUse: Record<string, ReadonlyArray<RegExp>> = {
  core: [/^hono/, /^@hono\//, /^node:https?$/, /^@kubernetes\//, /^@ai-sdk\//],
  policies: [/^node:/, /^hono/, /^postgres$/, /^undici$/],
}

interface Import {
  readonly file: string
  readonly specifier: string
  readonly typeOnly: boolean
}

const statement =
  /(?:^|\n)\s*(import|export)\s+(type\s)?[^"';]*?from\s+["']([^"']+)["']|import\(\s*["']([^"']+)["']\s*\)|(?:^|\n)\s*import\s+["']([^"']+)["']/g

const importsOf = (file: string): ReadonlyArray<Import> => {
  const source = readFileSync(join(root, file), "utf8").replace(/^\s*(\/\/|\*|\/\*).*$/gm, "")
  return [...source.matchAll(statement)].map((found) => ({
    file,
    specifier: found[3] ?? found[4] ?? found[5] ?? "",
    typeOnly: found[2] !== undefined,
  }))
}

/** The file an import of ours leads to, from the root; undefined for packages. */
const target = ({ file, specifier }: Import): string | undefined => {
  if (specifier.startsWith("#")) return specifier.slice(1)
  if (specifier.startsWith(".")) return relative(root, resolve(root, dirname(file), specifier))
  return undefined
}

const files: ReadonlyArray<string> = await Array.fromAsync(
  glob("{core,policies,plugins,gateway,runtime,sandbox-agent}/**/*.ts", { cwd: root }),
)
const sources = files.filter((file) => !file.endsWith(".test.ts"))
const imports = sources.flatMap(importsOf)

const below = (path: string, folder: string): boolean => path === folder || path.startsWith(`${folder}/`)

describe("the house", () => {
  it("has files to look at", () => {
    expect(sources.length).toBeGreaterThan(20)
    expect(imports.length).toBeGreaterThan(50)
  })

  it("imports only from the folders that the rule allows", () => {
    const broken = imports.flatMap((found) => {
      const to = target(found)
      const allowed = mayImport[found.file.split("/")[0] ?? ""] ?? []
      return to === undefined || allowed.some((folder) => below(to, folder)) ? [] : [`${found.file} imports ${to}`]
    })
    expect(broken).toEqual([])
  })

  it("keeps one plugin from importing another", () => {
    const broken = imports.flatMap((found) => {
      const to = target(found)
      const from = /^plugins\/([^/]+)\//.exec(found.file)?.[1]
      const other = to === undefined ? undefined : /^plugins\/([^/]+)\//.exec(to)?.[1]
      return from === undefined || other === undefined || from === other ? [] : [`${found.file} imports ${to}`]
    })
    expect(broken).toEqual([])
  })

  it("keeps HTTP servers, clusters and models out of the core", () => {
    const broken = imports.flatMap((found) => {
      const banned = mustNotUse[found.file.split("/")[0] ?? ""] ?? []
      const types = found.typeOnly && found.specifier.startsWith("node:")
      return !types && banned.some((pattern) => pattern.test(found.specifier))
        ? [`${found.file} imports ${found.specifier}`]
        : []
    })
    expect(broken).toEqual([])
  })

  it("has no import cycle between files", () => {
    const graph = new Map<string, ReadonlyArray<string>>()
    for (const file of sources) {
      graph.set(
        file,
        imports.filter((found) => found.file === file).flatMap((found) => target(found) ?? []),
      )
    }
    const cycles: Array<string> = []
    const done = new Set<string>()
    const visit = (file: string, path: ReadonlyArray<string>): void => {
      const at = path.indexOf(file)
      if (at >= 0) {
        cycles.push([...path.slice(at), file].join(" → "))
        return
      }
      if (done.has(file)) return
      for (const next of graph.get(file) ?? []) visit(next, [...path, file])
      done.add(file)
    }
    for (const file of sources) visit(file, [])
    expect(cycles).toEqual([])
  })
})
