/** A plugin that could run here, and where it came from. */
import type { Plugin } from "#core/plugin.ts"

export type PluginSource =
  | { readonly kind: "built-in" }
  | { readonly kind: "path"; readonly path: string }
  | { readonly kind: "package"; readonly package: string }
  /** A WebAssembly module. */
  | { readonly kind: "wasm"; readonly path: string; readonly digest: string }

export interface Candidate {
  readonly plugin: Plugin
  readonly source: PluginSource
  /** It could not even be read: why. `plugin` then has a name and nothing else. */
  readonly problem?: string
  /** It is not to run: why. It is listed, and nothing else. */
  readonly off?: string
}

export const isThirdParty = ({ source }: Candidate): boolean => source.kind !== "built-in"

export const sourceText = (source: PluginSource): string => {
  switch (source.kind) {
    case "built-in":
      return "built-in"
    case "path":
      return source.path
    case "package":
      return `package ${source.package}`
    case "wasm":
      return `${source.path} (${source.digest})`
  }
}

/** `skills (built-in)`: how a plugin is named in a clash. */
export const labelOf = ({ plugin, source }: Candidate): string => `${plugin.name} (${sourceText(source)})`

/** `GET /api/skills/{}`: what two routes must not share, whatever their parameters are called. */
export const routeKey = (method: string, path: string): string =>
  `${method} ${path.replace(/\{\*\*[^}]*\}/g, "{**}").replace(/\{[^*}][^}]*\}/g, "{}")}`
