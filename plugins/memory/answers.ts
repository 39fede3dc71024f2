/** Shapes of the answers. The agent's name is there in both spellings that clients look for. */
import { Schema } from "effect"
import type { Decision } from "#plugins/memory/decision-store.ts"
import type { Entry } from "#plugins/memory/entry-store.ts"
import type { InboxEntry } from "#plugins/memory/inbox-store.ts"
import type { Session } from "#plugins/memory/session-store.ts"
import { tagsText } from "#plugins/memory/text.ts"
import {
  decisionStatuses,
  decisionTypes,
  importanceOf,
  importances,
  inboxStatuses,
  memoryTypes,
  Provenance,
} from "#plugins/memory/values.ts"

const text = Schema.String
const maybe = Schema.NullOr(Schema.String)
const agent = { agentName: text, agent_name: text }
const times = { created_at: text, updated_at: text }

export const InboxAnswer = Schema.Struct({
  id: Schema.Int,
  ...agent,
  slug: text,
  type: Schema.Literals(decisionTypes),
  title: text,
  content: text,
  rationale: maybe,
  status: Schema.Literals(inboxStatuses),
  decision_id: Schema.NullOr(Schema.Int),
  merged_at: maybe,
  sourceKind: Provenance.sourceKind,
  sourceIdentity: text,
  sourceRunId: maybe,
  ...times,
})
export type InboxAnswer = typeof InboxAnswer.Type

export const inboxAnswer = (entry: InboxEntry): InboxAnswer => ({
  id: entry.id,
  agentName: entry.agentName,
  agent_name: entry.agentName,
  slug: entry.slug,
  type: entry.type,
  title: entry.title,
  content: entry.content,
  rationale: entry.rationale,
  status: entry.status,
  decision_id: entry.decisionId,
  merged_at: entry.mergedAt,
  sourceKind: entry.sourceKind,
  sourceIdentity: entry.sourceIdentity,
  sourceRunId: entry.sourceRunId,
  created_at: entry.createdAt,
  updated_at: entry.updatedAt,
})

export const DecisionAnswer = Schema.Struct({
  id: Schema.Int,
  ...agent,
  type: Schema.Literals(decisionTypes),
  status: Schema.Literals(decisionStatuses),
  title: text,
  content: text,
  rationale: maybe,
  tags: maybe,
  superseded_by_id: Schema.NullOr(Schema.Int),
  ...Provenance,
  ...times,
})
export type DecisionAnswer = typeof DecisionAnswer.Type

export const decisionAnswer = (decision: Decision): DecisionAnswer => ({
  id: decision.id,
  agentName: decision.agentName,
  agent_name: decision.agentName,
  type: decision.type,
  status: decision.status,
  title: decision.title,
  content: decision.content,
  rationale: decision.rationale,
  tags: tagsText(decision.tags),
  superseded_by_id: decision.supersededById,
  sourceKind: decision.sourceKind,
  sourceIdentity: decision.sourceIdentity,
  sourceRunId: decision.sourceRunId,
  trustState: decision.trustState,
  approvedBy: decision.approvedBy,
  approvedAt: decision.approvedAt,
  created_at: decision.createdAt,
  updated_at: decision.updatedAt,
})

/** As far as a memory is believed, with all that it was made from. */
const effective = ["untrusted", "own_agent", "approved"] as const

export const MemoryAnswer = Schema.Struct({
  id: Schema.Int,
  ...agent,
  sessionId: maybe,
  type: Schema.Literals(memoryTypes),
  importance: Schema.Literals(importances),
  content: text,
  tags: maybe,
  ...Provenance,
  /** `trustState` of this memory alone; this of the least of it and its sources. */
  effectiveTrust: Schema.Literals(effective),
  ...times,
})
export type MemoryAnswer = typeof MemoryAnswer.Type

export const memoryAnswer = (entry: Entry): MemoryAnswer => ({
  id: entry.id,
  agentName: entry.agentName,
  agent_name: entry.agentName,
  sessionId: entry.sessionId,
  type: entry.type,
  importance: importanceOf(entry.importance),
  content: entry.content,
  tags: tagsText(entry.tags),
  sourceKind: entry.sourceKind,
  sourceIdentity: entry.sourceIdentity,
  sourceRunId: entry.sourceRunId,
  trustState: entry.trustState,
  approvedBy: entry.approvedBy,
  approvedAt: entry.approvedAt,
  effectiveTrust: effective[entry.trust] ?? "untrusted",
  created_at: entry.createdAt,
  updated_at: entry.updatedAt,
})

export const PromotedAnswer = Schema.Struct({ ...MemoryAnswer.fields, heldBackBy: Schema.Array(Schema.Int) })

export const SessionAnswer = Schema.Struct({
  id: Schema.Int,
  sessionId: text,
  focusArea: text,
  activeIssues: maybe,
  summary: maybe,
  serialized_state: maybe,
  trusted: Schema.Boolean,
  started_at: text,
  updated_at: text,
  ended_at: maybe,
})
export type SessionAnswer = typeof SessionAnswer.Type

export const sessionAnswer = (session: Session): SessionAnswer => ({
  id: session.id,
  sessionId: session.sessionId,
  focusArea: session.focusArea,
  activeIssues: session.activeIssues,
  summary: session.summary,
  serialized_state: session.serializedState,
  trusted: session.trusted,
  started_at: session.startedAt,
  updated_at: session.updatedAt,
  ended_at: session.endedAt,
})

export const decidedFields = { id: Schema.Int, status: Schema.Literals(inboxStatuses) }
export const RejectedAnswer = Schema.Struct(decidedFields)
export const MergedAnswer = Schema.Struct({ ...decidedFields, decisionId: Schema.Int, mergedAt: text })
