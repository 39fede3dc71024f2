/** The language of a file, by its name: what an editor colours it as. */
import { extname } from "node:path"

const byExtension: Readonly<Record<string, string>> = {
  ".astro": "astro",
  ".bash": "shell",
  ".bat": "bat",
  ".bicep": "bicep",
  ".c": "c",
  ".cc": "cpp",
  ".cjs": "javascript",
  ".clj": "clojure",
  ".cpp": "cpp",
  ".cs": "csharp",
  ".css": "css",
  ".cts": "typescript",
  ".dart": "dart",
  ".ex": "elixir",
  ".exs": "elixir",
  ".fs": "fsharp",
  ".go": "go",
  ".gql": "graphql",
  ".graphql": "graphql",
  ".h": "c",
  ".hcl": "hcl",
  ".hpp": "cpp",
  ".htm": "html",
  ".html": "html",
  ".ini": "ini",
  ".java": "java",
  ".jl": "julia",
  ".js": "javascript",
  ".json": "json",
  ".jsonc": "json",
  ".jsx": "javascript",
  ".kt": "kotlin",
  ".kts": "kotlin",
  ".less": "less",
  ".lua": "lua",
  ".m": "objective-c",
  ".md": "markdown",
  ".mdx": "mdx",
  ".mjs": "javascript",
  ".mts": "typescript",
  ".php": "php",
  ".pl": "perl",
  ".proto": "protobuf",
  ".ps1": "powershell",
  ".py": "python",
  ".r": "r",
  ".rb": "ruby",
  ".rs": "rust",
  ".scala": "scala",
  ".scss": "scss",
  ".sh": "shell",
  ".sql": "sql",
  ".svelte": "svelte",
  ".svg": "xml",
  ".swift": "swift",
  ".tf": "hcl",
  ".toml": "toml",
  ".ts": "typescript",
  ".tsx": "typescript",
  ".txt": "plaintext",
  ".vb": "vb",
  ".vue": "vue",
  ".xml": "xml",
  ".yaml": "yaml",
  ".yml": "yaml",
  ".zig": "zig",
  ".zsh": "shell",
}

const byName: Readonly<Record<string, string>> = {
  dockerfile: "dockerfile",
  containerfile: "dockerfile",
  gemfile: "ruby",
  makefile: "makefile",
  rakefile: "ruby",
}

/** Null where the name says nothing. */
export const languageOf = (path: string): string | null => {
  const name = path.slice(path.lastIndexOf("/") + 1).toLowerCase()
  return own(byName, name) ?? own(byExtension, extname(name)) ?? null
}

const own = (table: Readonly<Record<string, string>>, key: string): string | undefined =>
  Object.hasOwn(table, key) ? table[key] : undefined
