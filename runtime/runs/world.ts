/** What a turn may do, from the services of this replica: the only way out of the engine. */
import { Effect } from "effect"
import { AgentTools } from "#core/agent-tools.ts"
import type { Checkout } from "#core/ports/checkouts.ts"
import { Models } from "#core/ports/models.ts"
import { Sandbox } from "#core/ports/sandbox.ts"
import { redact } from "#core/redaction.ts"
import { isCoordinator, type Run } from "#core/run/run.ts"
import { makeSessionStore } from "#core/run/session.ts"
import type { EffectivePolicy } from "#core/sandbox-policy/stored-policy.ts"
import { Sql } from "#core/sql.ts"
import { type ToolAnswer, type TurnEvent, TurnInterrupted, type TurnWorld } from "#core/wire/turn.ts"
import type { LineageEntry } from "#policies/tool-call/lineage.ts"
import { Outgoing } from "#runtime/outgoing/outgoing.ts"
import { webFetch } from "#runtime/outgoing/web-fetch.ts"
import { runInSandbox } from "#runtime/runs/command.ts"
import type { Held } from "#runtime/runs/held.ts"
import { fenced } from "#runtime/runs/prompts.ts"
import { eventOf, factsOf } from "#runtime/runs/turn-events.ts"
import { makeGate } from "#runtime/turn/gate/gate.ts"

interface WorldSpec {
  readonly run: Run
  readonly held: Held
  readonly checkout: Checkout
  readonly policy: EffectivePolicy
  /** Tools that this agent does not have. */
  readonly withheldTools: ReadonlyArray<string>
}

const away = ({ message }: { readonly message: string }) => new TurnInterrupted({ reason: "unavailable", message })

export const makeWorld = Effect.fn("runs.world")(function* ({
  run,
  held,
  checkout,
  policy: { policy, shellOff },
  withheldTools,
}: WorldSpec) {
  const models = yield* Models
  const sql = yield* Sql
  const sessions = makeSessionStore(sql)
  const outgoing = yield* Outgoing
  const above = yield* sql<LineageEntry>`
    with recursive up as (
      select run_id, parent_run_id, agent_name, 0 as level from runs where run_id = ${run.runId}
      union all
      select r.run_id, r.parent_run_id, r.agent_name, up.level + 1 from runs r join up on r.run_id = up.parent_run_id
    )
    select run_id as "runId", coalesce(agent_name, 'Agent') as "agentName" from up where level > 0 order by level desc`.pipe(
    Effect.mapError(away),
  )
  const own = { runId: run.runId, agentName: run.agentName ?? "Agent" }
  const [top = own, ...rest] = [...above, own]
  const gate = yield* makeGate(
    { runId: run.runId, fence: held.fence, lineage: [top, ...rest] },
    { policy, shellOff, sandbox: yield* (yield* Sandbox).status, withheldTools },
  )
  const inSandbox = yield* Effect.context<Effect.Services<ReturnType<typeof runInSandbox>>>()
  const written = (events: ReadonlyArray<TurnEvent>) => {
    const facts = factsOf(events)
    return { events: events.map(eventOf), ...(facts === undefined ? {} : { facts }) }
  }
  return {
    model: (request) => models.stream(request),
    limits: models.limits,
    emit: (events) => Effect.suspend(() => held.write(written(events))),
    session: sessions.load(run.runId).pipe(Effect.mapError(away)),
    remember: (entries) => held.write({ session: entries }),
    tell: (events, entries) => Effect.suspend(() => held.write({ ...written(events), session: entries })),
    hear: held.hear,
    permit: gate.permit,
    ask: gate.ask,
    command: (command) => Effect.provideContext(runInSandbox(checkout, policy, command), inSandbox),
    fetch: (url) => Effect.provideService(fetchPage(url), Outgoing, outgoing),
    // personal data is taken out of the output of commands alone: a file must come back as it was read
    redact,
    tools: (yield* AgentTools)({
      runId: run.runId,
      projectId: run.projectId,
      agentName: run.agentName,
      coordinator: isCoordinator(run),
    }),
  } satisfies TurnWorld
})

/** What a page says is data, and is given as such. */
const fetchPage = (url: string) =>
  webFetch(url).pipe(
    Effect.map(({ text, status, url: from, truncated }): ToolAnswer => {
      const head = `status: ${status}\nurl: ${from}${truncated ? "\ntruncated: true" : ""}`
      return { _tag: "Done", text: `${head}\n\n${fenced("page", text)}` }
    }),
    Effect.catchTags({
      OutgoingRefused: ({ message }) => Effect.succeed<ToolAnswer>({ _tag: "Failed", message }),
      OutgoingFailed: ({ message }) => Effect.succeed<ToolAnswer>({ _tag: "Failed", message }),
    }),
  )
