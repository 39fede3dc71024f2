/**
 * The sandbox policy of a repository, as its people have it: from the working directory of the project, never from
 * the checkout that an agent works in. A policy that cannot be read is a failure: who asks must not run anything.
 */
import { Duration, Effect, Result, Schema } from "effect"
import { bodyOf, defaultPolicy, readPolicySection, type SandboxPolicy } from "#core/sandbox-policy/policy.ts"
import { readSection, SettingsFileRefused, writeSection } from "#core/sandbox-policy/settings-file.ts"

/** A disk that is gone (a lost mount) may never answer. */
const diskPatience = Duration.seconds(5)

/** `.svc/settings.yml` is there and cannot be used. The details are for people. */
export class SandboxPolicyUnreadable extends Schema.TaggedError<SandboxPolicyUnreadable>()("SandboxPolicyUnreadable", {
  details: Schema.Array(Schema.String),
}) {
  override get message(): string {
    return `The sandbox policy of the repository cannot be read: ${this.details.join("; ")}`
  }
}

const unreadable = (...details: ReadonlyArray<string>) => new SandboxPolicyUnreadable({ details })

const onDisk = <A>(act: () => Promise<A>): Effect.Effect<A, SandboxPolicyUnreadable> =>
  Effect.tryPromise({
    try: act,
    // what the system says may hold paths of this machine
    catch: (error) =>
      unreadable(error instanceof SettingsFileRefused ? error.message : "The folder of the repository cannot be used."),
  }).pipe(
    Effect.timeoutOrElse({
      duration: diskPatience,
      orElse: () => unreadable("The disk of the repository does not answer."),
    }),
  )

/** The defaults where the repository has no policy. */
export const readSandboxPolicy = Effect.fn("readSandboxPolicy")(function* (repository: string) {
  const section = yield* onDisk(() => readSection(repository))
  if (section === undefined) return defaultPolicy
  return yield* Effect.fromResult(Result.mapError(readPolicySection(section), (details) => unreadable(...details)))
})

export interface EffectivePolicy {
  readonly policy: SandboxPolicy
  /** Why no shell command may run although nobody said so: the policy cannot be read. */
  readonly shellOff: string | null
}

/** What counts for a run: a policy that cannot be read allows nothing that a policy could forbid. */
export const effectivePolicy = (repository: string): Effect.Effect<EffectivePolicy> =>
  readSandboxPolicy(repository).pipe(
    Effect.map((policy): EffectivePolicy => ({ policy, shellOff: null })),
    Effect.catchTag("SandboxPolicyUnreadable", ({ message }) =>
      Effect.succeed({ policy: { ...defaultPolicy, shellEnabled: false }, shellOff: message }),
    ),
  )

/** Replaces the whole policy. */
export const writeSandboxPolicy = Effect.fn("writeSandboxPolicy")(function* (
  repository: string,
  policy: SandboxPolicy,
) {
  yield* onDisk(() => writeSection(repository, bodyOf(policy)))
})
