/** Answers in place of a plugin that should answer and does not run: by failing, which makes its guards refuse. */
import { Effect } from "effect"
import { defaultPriority } from "#core/hook/handler.ts"
import { type AnyQuestion, alwaysClosed, HookFault } from "#core/hook.ts"
import type { Plugin } from "#core/plugin.ts"
import type { Registered } from "#runtime/plugin-host/hooks/registry.ts"

/** `known`: the handlers it had when it ran. Beside them, the questions that it told of in advance and did not answer then. */
export const standIns = (
  plugin: Plugin,
  version: string,
  known: ReadonlyArray<Registered> | undefined,
  questions: ReadonlyArray<AnyQuestion>,
): ReadonlyArray<Registered> => {
  const closed = new Set(questions.filter(alwaysClosed).map(({ name }) => name))
  const fails = () => Effect.fail(new HookFault({ reason: "unavailable", message: "The plugin is not running." }))
  const answered = (known ?? [])
    .filter(({ mode, failure, question }) => mode === "enforce" && (failure === "closed" || closed.has(question)))
    .map((handler) => ({ ...handler, answer: fails }))
  const told = (plugin.hooks ?? [])
    .filter((question) => closed.has(question) && !known?.some((handler) => handler.question === question))
    .map(
      (question): Registered => ({
        plugin: plugin.name,
        version,
        question,
        priority: defaultPriority,
        mode: "enforce",
        failure: "closed",
        answer: fails,
      }),
    )
  return [...answered, ...told]
}
