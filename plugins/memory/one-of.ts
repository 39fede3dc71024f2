/** One of the words that the interface knows. */
import { Result } from "effect"
import type { Issue } from "#core/refusal.ts"

export const readOneOf = <A extends string>(
  words: ReadonlyArray<A>,
  value: string | null | undefined,
  path: string,
): Result.Result<A, Issue> => {
  const word = words.find((known) => known === value?.trim())
  if (word !== undefined) return Result.succeed(word)
  const name = path.slice(path.lastIndexOf(".") + 1)
  const message =
    value == null || value === "" ? `${name} is required.` : `${name} must be one of: ${words.join(", ")}.`
  return Result.fail({ path, message })
}
