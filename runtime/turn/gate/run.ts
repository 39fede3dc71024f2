/** The run whose calls a gate judges, and the rules it is judged by. */
import type { Duration } from "effect"
import type { SandboxStatus } from "#core/ports/sandbox.ts"
import type { SandboxPolicy } from "#core/sandbox-policy/policy.ts"
import type { LineageEntry } from "#policies/tool-call/lineage.ts"

export interface GateRun {
  readonly runId: string
  /** The fence under which the worker holds the run. */
  readonly fence: number
  /** The runs above it, the topmost first, and the run itself as the last. */
  readonly lineage: readonly [LineageEntry, ...LineageEntry[]]
}

export interface GateRules {
  /** Of the user's repository, never of the agent's checkout. */
  readonly policy: SandboxPolicy
  /** Why no command may run, whatever the policy says: it could not be read. Null where it was. */
  readonly shellOff: string | null
  readonly sandbox: SandboxStatus
  /** Tools that this agent does not have. */
  readonly withheldTools: ReadonlyArray<string>
  readonly patience?: Partial<Patience>
}

/** How long people have to decide. */
export interface Patience {
  readonly tool: Duration.Duration
  readonly shell: Duration.Duration
  readonly question: Duration.Duration
}
