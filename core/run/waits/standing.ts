/**
 * Asks people about a call of an agent, and looks whether they have decided, without waiting: waiting is a state of
 * the run. The same question for the same call is asked once, however often it is looked at.
 */
import { Duration, Effect } from "effect"
import type { NewEvent } from "#core/event.ts"
import type { EventLogShape } from "#core/event-log.ts"
import { newId } from "#core/ids.ts"
import type { Refusal } from "#core/refusal.ts"
import { isPast } from "#core/run/control/decide.ts"
import type { makeControlDesk } from "#core/run/control/desk.ts"
import {
  questionExpiry,
  questionOf,
  type Standing,
  shellStanding,
  shellTool,
  toolStanding,
} from "#core/run/control/standing.ts"
import { bareHash } from "#core/run/control/state.ts"
import { policySnapshotOf } from "#core/run/control/verdict.ts"
import {
  ChildApprovalRequired,
  ChildQuestion,
  QuestionAsked,
  ShellApprovalRequired,
  ToolApprovalRequired,
  ToolAutoApproved,
} from "#core/run/events/control.ts"
import type { makeTellParent } from "#core/run/waits/parent.ts"
import type { DatabaseUnavailable, SqlShape } from "#core/sql.ts"

type Answer<A> = Effect.Effect<A, Refusal | DatabaseUnavailable>

/** The call of a turn, by the worker that drives it. */
export interface TurnCall {
  readonly runId: string
  /** Under which the worker holds the run; a worker that lost it is refused with `lease_lost`. */
  readonly fence?: number
  /** Unique in the run. */
  readonly callId: string
  /** From the question until nobody can answer any more. */
  readonly patience: Duration.Duration
}

export interface ToolAsk extends TurnCall {
  readonly toolName: string
  /** What exactly is asked for: a digest of it. */
  readonly subject: string
  /** For people. */
  readonly url?: string
  readonly intention?: string
}

export interface ShellAsk extends TurnCall {
  /** `sha256:` and the digest of the exact command. */
  readonly commandHash: string
  /** Characters. */
  readonly commandLength: number
  /** Why a person is asked. */
  readonly message: string
}

export type Permission =
  | { readonly _tag: "Allowed" }
  | { readonly _tag: "Refused"; readonly why: "denied" | "expired" }
  | { readonly _tag: "Waits"; readonly requestId: string }

export type Answered =
  /** Null where nobody answered in time. */
  { readonly _tag: "Answered"; readonly answer: string | null } | { readonly _tag: "Waits"; readonly requestId: string }

export interface StandingShape {
  /** Allowed or refused by what people decided; else asked, here and on the parent's log. */
  readonly permitTool: (ask: ToolAsk) => Answer<Permission>
  /** The same for a shell command. An approval is used up by the answer `Allowed`: of two that look, one gets it. */
  readonly permitShell: (ask: ShellAsk) => Answer<Permission>
  readonly answerTo: (ask: TurnCall & { readonly question: string }) => Answer<Answered>
}

export const makeStanding = (
  sql: SqlShape,
  log: EventLogShape,
  { hold, read, view }: ReturnType<typeof makeControlDesk>,
  tellParent: ReturnType<typeof makeTellParent>,
): StandingShape => {
  const expiresAt = (now: number, patience: Duration.Duration): string =>
    new Date(now + Duration.toMillis(patience)).toISOString()

  /** Appends what the answer says; asks where nobody was asked. */
  const settle = Effect.fnUntraced(function* (
    runId: string,
    standing: Standing,
    ask: (requestId: string) => { readonly forParent: Parameters<typeof tellParent>[1]; readonly event: NewEvent },
    autoApproved?: (source: "allow_policy" | "auto_approve") => NewEvent,
  ): Effect.fn.Return<Permission, Refusal | DatabaseUnavailable> {
    if (standing._tag === "Ask") {
      const requestId = newId()
      const { forParent, event } = ask(requestId)
      yield* tellParent(runId, forParent)
      yield* log.append(runId, [event])
      return { _tag: "Waits", requestId }
    }
    const source = standing._tag === "Allowed" ? standing.source : null
    yield* log.append(runId, [
      ...standing.events,
      ...(source === null || autoApproved === undefined ? [] : [autoApproved(source)]),
    ])
    switch (standing._tag) {
      case "Allowed":
        return { _tag: "Allowed" }
      case "Refused":
        return { _tag: "Refused", why: standing.why }
      case "Waits":
        return { _tag: "Waits", requestId: standing.requestId }
    }
  })

  return {
    permitTool: Effect.fn("RunWaits.permitTool")(
      function* ({ runId, fence, callId, patience, toolName, subject, ...shown }: ToolAsk) {
        const { now } = yield* hold(runId, fence)
        const control = yield* view(runId)
        const url = shown.url === undefined ? {} : { url: shown.url }
        return yield* settle(
          runId,
          toolStanding(control, { toolName, subject }, callId, now),
          (requestId) => ({
            forParent: (child) => ChildApprovalRequired.of({ ...child, requestId, toolName, ...url }),
            event: ToolApprovalRequired.of({
              request_id: requestId,
              tool_name: toolName,
              ...shown,
              subject,
              expires_at: expiresAt(now, patience),
              callId,
            }),
          }),
          (approvalSource) =>
            ToolAutoApproved.of({
              decisionId: newId(),
              toolName,
              approvalSource,
              policySnapshotId: policySnapshotOf(control),
              previewTarget: null,
              targetPort: null,
              ...url,
            }),
        )
      },
      (effect) => sql.transaction(effect),
    ),

    permitShell: Effect.fn("RunWaits.permitShell")(
      function* ({ runId, fence, callId, patience, commandHash, commandLength, message }: ShellAsk) {
        const { now } = yield* hold(runId, fence)
        const command_hash = `sha256:${bareHash(commandHash)}`
        const standing = shellStanding(yield* view(runId), commandHash, callId, now)
        return yield* settle(runId, standing, (requestId) => ({
          forParent: (child) =>
            ChildApprovalRequired.of({
              ...child,
              requestId,
              toolName: shellTool,
              message: `${message} ${command_hash}`,
            }),
          event: ShellApprovalRequired.of({
            request_id: requestId,
            command_length: commandLength,
            command_hash,
            message,
            expires_at: expiresAt(now, patience),
            callId,
          }),
        }))
      },
      (effect) => sql.transaction(effect),
    ),

    answerTo: Effect.fn("RunWaits.answerTo")(
      function* ({ runId, fence, callId, patience, question }: TurnCall & { readonly question: string }) {
        const { now } = yield* hold(runId, fence)
        const known = questionOf((yield* read(runId)).state, callId)
        if (known === undefined) {
          const requestId = newId()
          yield* tellParent(runId, (child) => ChildQuestion.of({ ...child, requestId, question }))
          yield* log.append(runId, [
            QuestionAsked.of({ requestId, question, expiresAt: expiresAt(now, patience), callId }),
          ])
          return { _tag: "Waits", requestId } satisfies Answered
        }
        if (known.state !== "pending") return { _tag: "Answered", answer: known.answer } satisfies Answered
        if (!isPast(known.expiresAt, now)) return { _tag: "Waits", requestId: known.requestId } satisfies Answered
        yield* log.append(runId, [questionExpiry(known.requestId)])
        return { _tag: "Answered", answer: null } satisfies Answered
      },
      (effect) => sql.transaction(effect),
    ),
  }
}
