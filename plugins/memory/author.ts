/**
 * Who writes, and how far that is to be believed. An agent is known by its run alone; one whose run has read what the
 * world outside says writes as `external_tool`, and nobody is told that before a person has looked at it.
 */
import { Effect } from "effect"
import type { AgentRun } from "#core/agent-tools.ts"
import { type Caller, subjectOf } from "#core/auth/caller.ts"
import { redact } from "#core/redaction.ts"
import { refuse } from "#core/refusal.ts"
import type { ForeignText } from "#plugins/memory/foreign-text.ts"
import type { SourceKind } from "#plugins/memory/values.ts"

export interface Author {
  /** A user's subject, or `run:` and the run's id. */
  readonly identity: string
  readonly sourceKind: SourceKind
  readonly run: AgentRun | null
}

export const makeAuthors = (foreignText: ForeignText) => {
  const ofRun = Effect.fnUntraced(function* (run: AgentRun) {
    const foreign = yield* foreignText.wasGivenTo(run.runId)
    const author: Author = { identity: `run:${run.runId}`, sourceKind: foreign ? "external_tool" : "agent", run }
    return author
  })

  return {
    ofRun,
    ofCaller: (caller: Caller) =>
      caller.kind === "run"
        ? ofRun(caller)
        : Effect.succeed<Author>({ identity: subjectOf(caller), sourceKind: "user", run: null }),
  }
}

/** The agent that is written for. A run writes for its own agent only, whatever the request says. */
export const agentNameFor = (author: Author, said: string | null | undefined) => {
  if (author.run === null) return Effect.succeed(said)
  const own = author.run.agentName
  if (own === null) return refuse("forbidden", { message: "The run has no agent that could write." })
  if (said != null && said.trim() !== "" && said.trim() !== own) {
    return refuse("forbidden", { message: `agent_name does not match the run: its agent is ${own}.` })
  }
  return Effect.succeed(own)
}

/** What an agent writes is kept without the secrets that it may have seen. */
export const storedText = <A extends string | null>(author: Author, text: A): A | string =>
  author.run === null || text === null ? text : redact(text)
