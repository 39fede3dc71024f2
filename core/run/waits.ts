/**
 * What an agent's turn asks of people, and waits for. A question is an event first: the decision may come to
 * any replica, and a wait that was cut off by a crash can be taken up again by its request id. Every
 * wait ends: by a decision, by its expiry, or with the run.
 */
import { Context, Duration, Effect, Layer, Stream } from "effect"
import type { NewEvent } from "#core/event.ts"
import { EventLog } from "#core/event-log.ts"
import { newId } from "#core/ids.ts"
import type { Refusal } from "#core/refusal.ts"
import { isPast } from "#core/run/control/decide.ts"
import { makeControlDesk } from "#core/run/control/desk.ts"
import { type OpenRequest, openRequests, overdue } from "#core/run/control/open-requests.ts"
import { bareHash, type ControlState, controlTypes } from "#core/run/control/state.ts"
import { policySnapshotOf, type ToolUse, verdict } from "#core/run/control/verdict.ts"
import {
  ChildApprovalRequired,
  ChildQuestion,
  QuestionAnswered,
  QuestionAsked,
  ShellApprovalUsed,
  ToolApprovalRequired,
  ToolApprovalResolved,
  ToolAutoApproved,
} from "#core/run/events/control.ts"
import { runEndings } from "#core/run/events.ts"
import { isTerminal, type RunStatus } from "#core/run/status.ts"
import { makeTellParent } from "#core/run/waits/parent.ts"
import { makeStanding, type StandingShape } from "#core/run/waits/standing.ts"
import { type DatabaseUnavailable, Sql } from "#core/sql.ts"

type Answer<A> = Effect.Effect<A, Refusal | DatabaseUnavailable>

export interface ToolCall extends ToolUse {
  /** Where the call goes to the network; the subject, where that is null. */
  readonly url?: string
  readonly intention?: string
}

export type Asked =
  | { readonly _tag: "Allowed" }
  | { readonly _tag: "Denied" }
  | { readonly _tag: "Asked"; readonly requestId: string }

export interface RunWaitsShape extends StandingShape {
  /** Allowed or refused by what people decided before; else asked, here and on the parent's log. */
  readonly askTool: (runId: string, call: ToolCall, patience: Duration.Duration) => Answer<Asked>
  readonly toolDecision: (runId: string, requestId: string) => Answer<"approved" | "denied" | "expired">
  /** Gives the request's id. */
  readonly askQuestion: (runId: string, question: string, patience: Duration.Duration) => Answer<string>
  /** Null where nobody answered in time. */
  readonly questionAnswer: (runId: string, requestId: string) => Answer<string | null>
  /** Uses up the approval of this command; false where there is none. Of two that try, one succeeds. */
  readonly useShellApproval: (runId: string, commandHash: string) => Answer<boolean>
  /** What the run waits for people with now. */
  readonly open: (runId: string) => Effect.Effect<ReadonlyArray<OpenRequest>, DatabaseUnavailable>
  /** Ends what nobody decided in time, each once; gives what still waits, and the database's time in milliseconds. */
  readonly expireOverdue: (runId: string) => Answer<{ readonly open: ReadonlyArray<OpenRequest>; readonly now: number }>
}

/** What a wait looks at: decided, or when it ends, and the event of its end. */
type Pending<A> =
  | { readonly _tag: "Decided"; readonly value: A }
  | { readonly _tag: "Pending"; readonly expiresAt: string | null; readonly expiry: NewEvent }

const wakes = new Set([...controlTypes, ...runEndings])

export class RunWaits extends Context.Service<RunWaits, RunWaitsShape>()("core/RunWaits") {
  static readonly layer = Layer.effect(
    RunWaits,
    Effect.gen(function* () {
      const sql = yield* Sql
      const log = yield* EventLog
      const desk = makeControlDesk(sql, log)
      const { read, hold, view } = desk

      const expiresAt = (now: number, patience: Duration.Duration): string =>
        new Date(now + Duration.toMillis(patience)).toISOString()

      const tellParent = makeTellParent(sql, log)
      const standing = makeStanding(sql, log, desk, tellParent)

      const wait = <A>(runId: string, look: (state: ControlState) => Pending<A>, ended: A): Answer<A> =>
        Effect.gen(function* () {
          while (true) {
            const [run] = yield* sql<{ status: RunStatus; now: number }>`
              select status, (extract(epoch from clock_timestamp()) * 1000)::float8 as now
                from runs where run_id = ${runId}`
            const { head, state } = yield* read(runId)
            const seen = look(state)
            if (seen._tag === "Decided") return seen.value
            if (run === undefined || isTerminal(run.status)) return ended
            if (isPast(seen.expiresAt, run.now)) {
              yield* expire(runId, look)
              continue
            }
            const next = log.follow(runId, head).pipe(
              Stream.filter((event) => wakes.has(event.type)),
              Stream.take(1),
              Stream.runDrain,
            )
            yield* seen.expiresAt === null
              ? next
              : Effect.timeoutOption(next, Duration.millis(Date.parse(seen.expiresAt) - run.now))
          }
        })

      /** Ends the wait, unless a decision was faster or the run has ended. */
      const expire = <A>(runId: string, look: (state: ControlState) => Pending<A>) =>
        sql
          .transaction(
            Effect.gen(function* () {
              const { now } = yield* hold(runId)
              const seen = look((yield* read(runId)).state)
              if (seen._tag === "Pending" && isPast(seen.expiresAt, now)) yield* log.append(runId, [seen.expiry])
            }),
          )
          .pipe(Effect.catchTag("Refusal", () => Effect.void))

      return RunWaits.of({
        ...standing,
        open: (runId) => Effect.map(read(runId), ({ state }) => openRequests(state)),
        expireOverdue: Effect.fn("RunWaits.expireOverdue")(
          function* (runId: string) {
            const { now } = yield* hold(runId)
            const open = openRequests((yield* read(runId)).state)
            const over = overdue(open, now)
            yield* log.append(
              runId,
              over.map(({ expiry }) => expiry),
            )
            return { open: open.filter((request) => !over.includes(request)), now }
          },
          (effect) => sql.transaction(effect),
        ),
        askTool: Effect.fn("RunWaits.askTool")(
          function* (runId: string, call: ToolCall, patience: Duration.Duration) {
            const { now } = yield* hold(runId)
            const control = yield* view(runId)
            const said = verdict(control, { toolName: call.toolName, subject: call.subject ?? call.url ?? null })
            if (said._tag === "Denied") return said
            if (said._tag === "Allowed") {
              yield* log.append(runId, [
                ToolAutoApproved.of({
                  decisionId: newId(),
                  toolName: call.toolName,
                  approvalSource: said.source,
                  policySnapshotId: policySnapshotOf(control),
                  previewTarget: null,
                  targetPort: null,
                  ...(call.url === undefined ? {} : { url: call.url }),
                }),
              ])
              return { _tag: "Allowed" } as const
            }
            const requestId = newId()
            const url = call.url === undefined ? {} : { url: call.url }
            yield* tellParent(runId, (child) =>
              ChildApprovalRequired.of({ ...child, requestId, toolName: call.toolName, ...url }),
            )
            yield* log.append(runId, [
              ToolApprovalRequired.of({
                request_id: requestId,
                tool_name: call.toolName,
                ...url,
                ...(call.intention === undefined ? {} : { intention: call.intention }),
                ...(call.subject === null ? {} : { subject: call.subject }),
                expires_at: expiresAt(now, patience),
              }),
            ])
            return { _tag: "Asked", requestId } as const
          },
          (effect) => sql.transaction(effect),
        ),
        toolDecision: Effect.fn("RunWaits.toolDecision")(function* (runId: string, requestId: string) {
          return yield* wait<"approved" | "denied" | "expired">(
            runId,
            (state) => {
              const request = state.tools.get(requestId)
              if (request === undefined) return { _tag: "Decided", value: "expired" }
              if (request.state !== "pending") return { _tag: "Decided", value: request.state }
              const about = { request_id: requestId, tool_name: request.toolName }
              const expiry = ToolApprovalResolved.of({ ...about, state: "expired", applied: true })
              return { _tag: "Pending", expiresAt: request.expiresAt, expiry }
            },
            "expired",
          )
        }),
        askQuestion: Effect.fn("RunWaits.askQuestion")(
          function* (runId: string, question: string, patience: Duration.Duration) {
            const { now } = yield* hold(runId)
            const requestId = newId()
            yield* tellParent(runId, (child) => ChildQuestion.of({ ...child, requestId, question }))
            yield* log.append(runId, [QuestionAsked.of({ requestId, question, expiresAt: expiresAt(now, patience) })])
            return requestId
          },
          (effect) => sql.transaction(effect),
        ),
        questionAnswer: Effect.fn("RunWaits.questionAnswer")(function* (runId: string, requestId: string) {
          return yield* wait<string | null>(
            runId,
            (state) => {
              const question = state.questions.get(requestId)
              if (question?.state !== "pending") return { _tag: "Decided", value: question?.answer ?? null }
              const expiry = QuestionAnswered.of({ requestId, answer: null, timedOut: true })
              return { _tag: "Pending", expiresAt: question.expiresAt, expiry }
            },
            null,
          )
        }),
        useShellApproval: Effect.fn("RunWaits.useShellApproval")(
          function* (runId: string, commandHash: string) {
            yield* hold(runId)
            const { state } = yield* read(runId)
            if (state.shell.get(bareHash(commandHash))?.state !== "approved") return false
            yield* log.append(runId, [ShellApprovalUsed.of({ command_hash: `sha256:${bareHash(commandHash)}` })])
            return true
          },
          (effect) => sql.transaction(effect),
        ),
      })
    }),
  )
}
