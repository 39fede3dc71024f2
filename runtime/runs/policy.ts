/** The sandbox policy that counts for a run: the one of its people. One that cannot be read allows no command. */
import { Effect } from "effect"
import { defaultPolicy, type SandboxPolicy } from "#core/sandbox-policy/policy.ts"
import { readSandboxPolicy } from "#core/sandbox-policy/stored-policy.ts"

export interface RunPolicy {
  readonly policy: SandboxPolicy
  /** Why no command may run, whatever the policy says; null where it could be read. */
  readonly shellOff: string | null
}

export const readPolicy = (repository: string): Effect.Effect<RunPolicy> =>
  readSandboxPolicy(repository).pipe(
    Effect.map((policy) => ({ policy, shellOff: null })),
    Effect.catchTag("SandboxPolicyUnreadable", ({ message }) =>
      Effect.succeed({ policy: { ...defaultPolicy, networkEnabled: false }, shellOff: message }),
    ),
  )
