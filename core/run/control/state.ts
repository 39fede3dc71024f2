/**
 * What people have allowed and refused in one run, folded from its events: a pure function of the log,
 * so that every replica comes to the same answer.
 *
 * How far a grant reaches: `once` is the one request; `run` and `tool` are every call of that tool in
 * the run and its children; `always` is the same and is kept when the run is retried. A scope that is
 * not known means `once`. A refusal stands against every grant (see `verdict.ts`).
 */
import { Option, Schema } from "effect"
import type { EventType, StoredEvent } from "#core/event.ts"
import * as events from "#core/run/events/control.ts"
import { ApprovalPolicySelected } from "#core/run/events/run.ts"

export interface ToolRequest {
  readonly requestId: string
  readonly toolName: string
  /** What exactly was asked for: a digest of the arguments, or a URL. */
  readonly subject: string | null
  readonly expiresAt: string | null
  readonly state: "pending" | "approved" | "denied" | "expired"
  /** The call that waits; null where it is not one of an agent's turn. Within a run every call has an id of its own. */
  readonly callId: string | null
}

export interface ShellRequest {
  readonly requestId: string
  readonly expiresAt: string | null
  readonly state: "pending" | "approved" | "denied" | "used" | "expired"
  readonly callId: string | null
}

export interface Question {
  readonly requestId: string
  readonly callId: string | null
  readonly expiresAt: string | null
  readonly state: "pending" | "answered" | "expired"
  readonly answer: string | null
}

export interface ControlState {
  readonly tools: ReadonlyMap<string, ToolRequest>
  /** By the digest of the command, without `sha256:`. */
  readonly shell: ReadonlyMap<string, ShellRequest>
  readonly questions: ReadonlyMap<string, Question>
  /** Tools that are allowed in this run, with the widest scope that was given. */
  readonly allowed: ReadonlyMap<string, "run" | "always">
  /** `{tool}\n{subject}` of what was refused. */
  readonly refused: ReadonlySet<string>
  /** Undefined: never set in this run. */
  readonly autoApprove: boolean | undefined
  readonly autopilot: boolean | undefined
  readonly policySnapshotId: string | null
  /** Requests that a child of this run waits with, and the child. */
  readonly children: ReadonlyMap<string, string>
}

export const emptyState: ControlState = {
  tools: new Map(),
  shell: new Map(),
  questions: new Map(),
  allowed: new Map(),
  refused: new Set(),
  autoApprove: undefined,
  autopilot: undefined,
  policySnapshotId: null,
  children: new Map(),
}

const { ToolApprovalRequired, ToolApprovalGranted, ToolApprovalDenied, ToolApprovalResolved } = events
const { ShellApprovalRequired, ShellApprovalGranted, ShellApprovalDenied, ShellApprovalUsed } = events
const { QuestionAsked, QuestionAnswered, AutoApproveChanged, AutopilotChanged } = events
const { ChildApprovalRequired, ChildQuestion } = events

type Step = (state: ControlState, payload: unknown) => ControlState

/** A payload that does not have its declared shape changes nothing. */
const on = <Payload>(
  event: EventType<Payload>,
  step: (state: ControlState, payload: Payload) => ControlState,
): readonly [string, Step] => {
  const decode = Schema.decodeUnknownOption(event.payload)
  return [
    event.type,
    (state, payload) =>
      Option.match(decode(payload), { onNone: () => state, onSome: (decoded) => step(state, decoded) }),
  ]
}

const steps = new Map<string, Step>([
  on(ToolApprovalRequired, (state, asked) =>
    withTool(state, {
      requestId: asked.request_id,
      toolName: asked.tool_name,
      subject: asked.subject ?? asked.url ?? null,
      expiresAt: asked.expires_at ?? null,
      state: "pending",
      callId: asked.callId ?? null,
    }),
  ),
  on(ToolApprovalGranted, (state, granted) => grant(state, granted.request_id, granted.scope)),
  on(ToolApprovalDenied, (state, denied) => deny(state, denied.request_id)),
  on(ToolApprovalResolved, (state, resolved) => {
    if (resolved.state === "approved") return grant(state, resolved.request_id, "once")
    if (resolved.state === "denied") return deny(state, resolved.request_id)
    const request = state.tools.get(resolved.request_id)
    if (request === undefined) return expireShell(state, resolved.request_id)
    return request.state === "pending" ? withTool(state, { ...request, state: "expired" }) : state
  }),
  on(ShellApprovalRequired, (state, asked) =>
    withShell(state, asked.command_hash, {
      requestId: asked.request_id,
      expiresAt: asked.expires_at ?? null,
      state: "pending",
      callId: asked.callId ?? null,
    }),
  ),
  on(ShellApprovalGranted, (state, granted) => moveShell(state, granted.command_hash, "pending", "approved")),
  on(ShellApprovalDenied, (state, denied) => moveShell(state, denied.command_hash, "pending", "denied")),
  on(ShellApprovalUsed, (state, used) => moveShell(state, used.command_hash, "approved", "used")),
  on(QuestionAsked, (state, asked) =>
    withQuestion(state, {
      requestId: asked.requestId,
      callId: asked.callId ?? null,
      expiresAt: asked.expiresAt ?? null,
      state: "pending",
      answer: null,
    }),
  ),
  on(QuestionAnswered, (state, answered) => {
    const question = state.questions.get(answered.requestId)
    if (question?.state !== "pending") return state
    const { answer, timedOut } = answered
    return withQuestion(state, { ...question, state: timedOut ? "expired" : "answered", answer })
  }),
  on(AutoApproveChanged, (state, { enabled }) => ({ ...state, autoApprove: enabled })),
  on(AutopilotChanged, (state, { enabled }) => ({ ...state, autopilot: enabled })),
  on(ApprovalPolicySelected, (state, policy) => ({
    ...state,
    autoApprove: policy.autoApproveTools,
    autopilot: policy.autopilot,
    policySnapshotId: policy.policySnapshotId ?? null,
  })),
  on(ChildApprovalRequired, (state, { requestId, childRunId }) => withChild(state, requestId, childRunId)),
  on(ChildQuestion, (state, { requestId, childRunId }) => withChild(state, requestId, childRunId)),
])

/** The event types that run control is made of. */
export const controlTypes: ReadonlyArray<string> = [...steps.keys()]

export const fold = (state: ControlState, event: Pick<StoredEvent, "type" | "payload">): ControlState => {
  const step = steps.get(event.type)
  return step === undefined ? state : step(state, JSON.parse(event.payload))
}

/** Command digests are compared without their prefix. */
export const bareHash = (commandHash: string): string => commandHash.replace(/^sha256:/i, "").toLowerCase()

export const refusalKey = (toolName: string, subject: string): string => `${toolName}\n${subject}`

const withTool = (state: ControlState, request: ToolRequest): ControlState => ({
  ...state,
  tools: new Map(state.tools).set(request.requestId, request),
})

const grant = (state: ControlState, requestId: string, scope: events.Scope): ControlState => {
  const request = state.tools.get(requestId)
  if (request?.state !== "pending") return state
  const granted = withTool(state, { ...request, state: "approved" })
  if (scope === "once") return granted
  const widest = scope === "always" || state.allowed.get(request.toolName) === "always" ? "always" : "run"
  return { ...granted, allowed: new Map(state.allowed).set(request.toolName, widest) }
}

const deny = (state: ControlState, requestId: string): ControlState => {
  const request = state.tools.get(requestId)
  if (request?.state !== "pending") return state
  const denied = withTool(state, { ...request, state: "denied" })
  if (request.subject === null) return denied
  return { ...denied, refused: new Set(state.refused).add(refusalKey(request.toolName, request.subject)) }
}

const withShell = (state: ControlState, hash: string, request: ShellRequest): ControlState => ({
  ...state,
  shell: new Map(state.shell).set(bareHash(hash), request),
})

const moveShell = (
  state: ControlState,
  hash: string,
  from: ShellRequest["state"],
  to: ShellRequest["state"],
): ControlState => {
  const request = state.shell.get(bareHash(hash))
  return request?.state === from ? withShell(state, hash, { ...request, state: to }) : state
}

const expireShell = (state: ControlState, requestId: string): ControlState => {
  const [hash, request] = [...state.shell].find(([, shell]) => shell.requestId === requestId) ?? []
  return hash === undefined || request?.state !== "pending"
    ? state
    : withShell(state, hash, { ...request, state: "expired" })
}

const withQuestion = (state: ControlState, question: Question): ControlState => ({
  ...state,
  questions: new Map(state.questions).set(question.requestId, question),
})

const withChild = (state: ControlState, requestId: string, childRunId: string): ControlState => ({
  ...state,
  children: new Map(state.children).set(requestId, childRunId),
})
