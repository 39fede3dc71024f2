/** The words of the interface for decisions, inbox entries and memories, and the bounds of what is stored. */
import { Schema } from "effect"

export const decisionTypes = [
  "learning",
  "pattern",
  "update",
  "architectural",
  "scope",
  "process",
  "technical",
] as const
export type DecisionType = (typeof decisionTypes)[number]

export const decisionStatuses = ["active", "superseded", "archived"] as const
export type DecisionStatus = (typeof decisionStatuses)[number]

export const inboxStatuses = ["pending", "merged", "rejected"] as const
export type InboxStatus = (typeof inboxStatuses)[number]

export const memoryTypes = ["learning", "pattern", "core_context", "update"] as const
export type MemoryType = (typeof memoryTypes)[number]

/** From the least to the most. */
export const importances = ["low", "medium", "high"] as const
export type Importance = (typeof importances)[number]

/** As stored: 1, 2, 3. */
export const rankOf = (importance: Importance): number => importances.indexOf(importance) + 1
export const importanceOf = (rank: number): Importance => importances[rank - 1] ?? "medium"

/** Where a row comes from. `external_tool`: written by an agent that had read what the world outside says. */
export const sourceKinds = ["user", "agent", "external_tool", "import", "legacy"] as const
export type SourceKind = (typeof sourceKinds)[number]

export const trustStates = ["pending", "approved", "legacy"] as const
export type TrustState = (typeof trustStates)[number]

/** The tag that makes an approved memory of one agent the context of all. */
export const crossTeam = "cross-team"

export const maxContent = 16_000
export const maxTitle = 300
export const maxName = 100
export const maxSlug = 120
export const maxTags = 32
export const maxTag = 64

/** Provenance as routes answer it. */
export const Provenance = {
  sourceKind: Schema.Literals(sourceKinds),
  sourceIdentity: Schema.String,
  sourceRunId: Schema.NullOr(Schema.String),
  trustState: Schema.Literals(trustStates),
  approvedBy: Schema.NullOr(Schema.String),
  approvedAt: Schema.NullOr(Schema.String),
}
