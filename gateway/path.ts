/**
 * Paths of the interface (`/api/runs/{id}/files/{**path}`) and paths of requests. A request's path is
 * taken as it was sent and decoded once; one that could mean two things to two programs is refused.
 */
import { refuseInput } from "#core/refusal.ts"

export interface PathPattern {
  /** The path as the interface writes it. */
  readonly written: string
  /** The same for Hono, with parameters named by position, so that `{id}` and `{runId}` are one. */
  readonly hono: string
  /** Names of the parameters, in order. */
  readonly parameters: ReadonlyArray<string>
  /** True where the last parameter takes the rest of the path. */
  readonly takesRest: boolean
}

const parameterForm = /^\{(\*\*)?([A-Za-z][A-Za-z0-9]*)\}$/
const literalForm = /^[A-Za-z0-9._~:-]*$/

/** Undefined where `written` is not a path of the interface's grammar. */
export const patternOf = (written: string): PathPattern | undefined => {
  if (!written.startsWith("/")) return undefined
  const parameters: Array<string> = []
  const segments = written.slice(1).split("/")
  const hono: Array<string> = []
  let takesRest = false
  for (const [index, segment] of segments.entries()) {
    const [, rest, name] = parameterForm.exec(segment) ?? []
    if (name !== undefined) {
      takesRest = rest !== undefined
      if (parameters.includes(name) || (takesRest && index < segments.length - 1)) return undefined
      hono.push(takesRest ? `:p${parameters.length}{.+}` : `:p${parameters.length}`)
      parameters.push(name)
    } else if (literalForm.test(segment)) hono.push(segment)
    else return undefined
  }
  return { written, hono: `/${hono.join("/")}`, parameters, takesRest }
}

/** Literal segments before parameters, parameters before a rest: the more specific path is asked first. */
export const bySpecificity = (left: PathPattern, right: PathPattern): number => {
  const [a, b] = [left.hono.split("/"), right.hono.split("/")]
  for (let index = 0; index < Math.max(a.length, b.length); index++) {
    const difference = rank(a[index]) - rank(b[index])
    if (difference !== 0) return difference
  }
  return left.hono < right.hono ? -1 : 1
}

const rank = (segment: string | undefined): number =>
  segment === undefined ? 3 : segment.endsWith("{.+}") ? 2 : segment.startsWith(":") ? 1 : 0

/** Everything of a target before its query; `target` is in origin form. */
export const pathOf = (target: string): string => {
  const end = target.indexOf("?")
  return end === -1 ? target : target.slice(0, end)
}

export const queryOf = (target: string): string => {
  const start = target.indexOf("?")
  return start === -1 ? "" : target.slice(start + 1)
}

const escapes = /%(?![0-9a-fA-F]{2})/
/** Encoded slash and backslash, and every control character, NUL among them. */
const hiddenCharacters = /%(?:2f|5c|[01][0-9a-f]|7f)/i
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is refused
const controlCharacters = /[\x00-\x1f\x7f\\]/

/** What is wrong with a path; undefined for an honest one. */
export const pathProblem = (path: string): string | undefined => {
  if (escapes.test(path)) return "Expected two hexadecimal digits after each %"
  if (hiddenCharacters.test(path) || controlCharacters.test(path)) {
    return "Expected no encoded slash, backslash or control character"
  }
  const segments = path.split("/").slice(1)
  for (const [index, segment] of segments.entries()) {
    const decoded = decodeSegment(segment)
    if (decoded === undefined) return "Expected valid UTF-8"
    if (decoded === "." || decoded === "..") return "Expected no dot segments"
    if (decoded === "" && index < segments.length - 1) return "Expected no empty segments"
  }
  return undefined
}

export const badPath = (problem: string) => refuseInput([{ path: "path", message: problem }])

const decodeSegment = (segment: string): string | undefined => {
  if (!segment.includes("%")) return segment
  try {
    return decodeURIComponent(segment)
  } catch {
    return undefined
  }
}

/** The parameters of an honest path (`pathProblem` found none), decoded once, by the names of `pattern`. */
export const parametersOf = (pattern: PathPattern, path: string): Record<string, string> => {
  const written = pattern.written.split("/")
  const segments = path.split("/")
  const parameters: Record<string, string> = {}
  for (const [index, segment] of written.entries()) {
    const [, rest, name] = parameterForm.exec(segment) ?? []
    if (name === undefined) continue
    parameters[name] = decodeURIComponent(
      rest === undefined ? (segments[index] ?? "") : segments.slice(index).join("/"),
    )
  }
  return parameters
}
