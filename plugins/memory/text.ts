/** Text as it may be stored: what PostgreSQL and files can hold, within bounds. Pure. */
import { createHash } from "node:crypto"
import { Result } from "effect"
import { type Issue, refuseInput } from "#core/refusal.ts"
import { maxName, maxSlug, maxTag, maxTags } from "#plugins/memory/values.ts"

type Read<A> = Result.Result<A, Issue>

const wrong = (path: string, message: string): Read<never> => Result.fail({ path, message })

const lastOf = (path: string): string => path.slice(path.lastIndexOf(".") + 1)

/** Not empty, no NUL, no halves of characters, and line ends of one kind. */
export const readText = (value: string | null | undefined, path: string, maximum: number): Read<string> => {
  if (value == null || value.trim() === "") return wrong(path, `${lastOf(path)} is required.`)
  if (value.length > maximum) return wrong(path, `${lastOf(path)} has more than ${maximum} characters.`)
  if (value.includes("\0") || !value.isWellFormed()) return wrong(path, `${lastOf(path)} is not text.`)
  return Result.succeed(value.replaceAll(/\r\n?/g, "\n"))
}

/** As `readText`; null where it is absent or empty. */
export const readOptional = (value: string | null | undefined, path: string, maximum: number): Read<string | null> =>
  value == null || value.trim() === "" ? Result.succeed(null) : readText(value, path, maximum)

/** One line, trimmed. */
export const readLine = (value: string | null | undefined, path: string, maximum: number): Read<string> =>
  Result.flatMap(readText(value?.trim(), path, maximum), (text) =>
    /[\p{Cc}\u2028\u2029]/u.test(text) ? wrong(path, `${lastOf(path)} must be one line.`) : Result.succeed(text),
  )

export const readAgentName = (value: string | null | undefined, path: string): Read<string> =>
  readLine(value, path, maxName)

const slugForm = /^[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?$/

export const readSlug = (value: string | null | undefined, path: string): Read<string> =>
  Result.flatMap(readLine(value, path, maxSlug), (slug) =>
    slugForm.test(slug) && !slug.includes("..")
      ? Result.succeed(slug)
      : wrong(path, "slug must be letters, digits, '-', '_' and '.', and begin and end with a letter or digit."),
  )

/** `a, b,,a` → `["a", "b"]`. */
export const readTags = (value: string | null | undefined, path: string): Read<ReadonlyArray<string>> => {
  const tags = [...new Set((value ?? "").split(",").map((tag) => tag.trim()))].filter((tag) => tag !== "")
  if (tags.length > maxTags) return wrong(path, `tags has more than ${maxTags} tags.`)
  const bad = tags.find((tag) => tag.length > maxTag || /[\p{Cc}\u2028\u2029]/u.test(tag) || !tag.isWellFormed())
  return bad === undefined ? Result.succeed(tags) : wrong(path, `tags must be of one line and ${maxTag} characters.`)
}

export const tagsText = (tags: ReadonlyArray<string>): string | null => (tags.length === 0 ? null : tags.join(","))

/** The name of an agent as part of a file's name; what is left of no letter is told apart by a digest. */
export const kebab = (name: string): string => {
  const plain = name
    .normalize("NFKD")
    .replaceAll(/\p{M}/gu, "")
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, "-")
    .replaceAll(/^-+|-+$/g, "")
  return plain === "" ? `agent-${createHash("sha256").update(name).digest("hex").slice(0, 8)}` : plain
}

type ValuesOf<A> = { readonly [K in keyof A]: A[K] extends Read<infer Value> ? Value : never }

/** What was read, or one refusal that says all that is wrong. */
export const readAll = <A extends Readonly<Record<string, Read<unknown>>>>(
  fields: A,
): Result.Result<ValuesOf<A>, ReturnType<typeof refuseInput>> => {
  const issues: Array<Issue> = []
  const values: Record<string, unknown> = {}
  for (const [name, read] of Object.entries(fields)) {
    if (Result.isSuccess(read)) values[name] = read.success
    else issues.push(read.failure)
  }
  return issues.length > 0
    ? Result.fail(refuseInput(issues, issues.map(({ message }) => message).join(" ")))
    : // each member was put there under its own name
      Result.succeed(values as ValuesOf<A>)
}
