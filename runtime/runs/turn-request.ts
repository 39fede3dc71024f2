/** What a turn is given: the rules of the house, the charter, and the context that plugins may refine. */
import { Effect } from "effect"
import { Hooks } from "#core/hook.ts"
import type { Checkout } from "#core/ports/checkouts.ts"
import { nothingComposed } from "#core/run/nothing-composed.ts"
import type { Run } from "#core/run/run.ts"
import { makeSessionStore } from "#core/run/session.ts"
import type { Work } from "#core/run/work-store.ts"
import type { SandboxPolicy } from "#core/sandbox-policy/policy.ts"
import { Settings } from "#core/settings.ts"
import { Sql } from "#core/sql.ts"
import { TurnInterrupted, type TurnRequest } from "#core/wire/turn.ts"
import { agentContext } from "#policies/agent-context/question.ts"
import { ContextRefused } from "#runtime/runs/failure.ts"
import type { Held } from "#runtime/runs/held.ts"
import { houseRules } from "#runtime/runs/prompts.ts"

interface TurnSpec {
  readonly run: Run
  readonly work: Work
  readonly held: Held
  readonly checkout: Checkout
  readonly policy: SandboxPolicy
}

const away = ({ message }: { readonly message: string }) => new TurnInterrupted({ reason: "unavailable", message })

export const turnRequest = Effect.fn("runs.turnRequest")(function* ({ run, work, held, checkout, policy }: TurnSpec) {
  const hooks = yield* Hooks
  const settings = yield* Settings
  const sql = yield* Sql
  const { runId, projectId } = run
  const agentName = run.agentName ?? "Agent"
  const task = work.instruction ?? run.task
  const session = yield* makeSessionStore(sql).load(runId).pipe(Effect.mapError(away))
  const { sections } = yield* hooks
    .ask(
      agentContext,
      {
        runId,
        projectId,
        agentName,
        task,
        sections: [
          { id: "rules", title: "Rules", text: houseRules },
          ...(work.charter === null ? [] : [{ id: "charter", title: "Your charter", text: work.charter }]),
          { id: "run", title: "This run", text: `You are ${agentName}. The checkout is ${checkout.path}.` },
        ],
      },
      { runId },
    )
    .pipe(
      Effect.catchTags({
        Refusal: ({ message }) => Effect.fail(new ContextRefused({ message })),
        DatabaseUnavailable: (failure) => Effect.fail(away(failure)),
      }),
    )
  const textOf = (wanted: (id: string) => boolean) =>
    sections
      .filter(({ id }) => wanted(id))
      .map(({ title, text }) => `# ${title}\n${text}`)
      .join("\n\n")
  const own = (id: string) => id === "rules" || id === "charter"
  if (!sections.some(({ id }) => id === "memory")) yield* held.write({ events: [nothingComposed] })
  return {
    runId,
    projectId,
    agentName: run.agentName,
    source: run.modelSource,
    modelId: run.modelId,
    systemPrompt: textOf(own),
    runContext: textOf((id) => !own(id) && id !== "skills"),
    skillContext: textOf((id) => id === "skills"),
    skillDeliveryMode: sections.some(({ id }) => id === "skills") ? "inline" : "none",
    callableMemoryGuidanceIncluded: sections.some(({ id }) => id === "memory"),
    task,
    workingDirectory: checkout.path,
    resumes: session.length > 0,
    bounds: { maxSteps: settings.RunBounds.MaxSteps, maxMinutes: settings.RunBounds.MaxMinutes },
    withheldTools: policy.shellEnabled ? [] : ["run_command"],
    maxOutputBytes: policy.maxOutputBytes,
  } satisfies TurnRequest
})
