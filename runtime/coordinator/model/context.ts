/**
 * What the coordinator is told before it is asked: its own rules, and what plugins know of the project (`agent.context`),
 * as every agent is told at the start of a turn. Where that cannot be composed no model is asked.
 */
import { Effect } from "effect"
import { Hooks } from "#core/hook.ts"
import { nothingComposed } from "#core/run/nothing-composed.ts"
import { coordinatorAgent } from "#core/run/run.ts"
import { agentContext } from "#policies/agent-context/question.ts"
import type { CoordinatorState } from "#runtime/coordinator/state.ts"
import { type Tell, WorldFailed } from "#runtime/coordinator/world.ts"

const rulesId = "rules"

const failed = (reason: string, retryable: boolean) => (failure: { readonly message: string }) =>
  new WorldFailed({ reason, message: failure.message, retryable })

/** The system prompt: these rules first, then every other section with its title. */
export const systemWithContext = Effect.fn("coordinator.context")(function* (
  { run: { runId, projectId, goal } }: Pick<CoordinatorState, "run">,
  rules: string,
  tell: Tell,
) {
  const hooks = yield* Hooks
  const { sections } = yield* hooks
    .ask(
      agentContext,
      {
        ...{ runId, projectId, agentName: coordinatorAgent, task: goal },
        sections: [{ id: rulesId, title: "Rules", text: rules }],
      },
      { runId },
    )
    .pipe(
      Effect.catchTags({
        Refusal: failed("context_unavailable", false),
        DatabaseUnavailable: failed("unavailable", true),
      }),
    )
  if (!sections.some(({ id }) => id === "memory")) yield* tell([nothingComposed])
  const own = sections.filter(({ id }) => id === rulesId).map(({ text }) => text)
  const others = sections.filter(({ id }) => id !== rulesId).map(({ title, text }) => `# ${title}\n${text}`)
  return [...own, ...others].join("\n\n")
})
