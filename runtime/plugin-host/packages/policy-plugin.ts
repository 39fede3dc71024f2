/**
 * A package as a plugin of the host: its policy answers the questions that the manifest names, with no more than was granted.
 * Exchanging it is the host's: a new version is set up beside the old one, and each call stays with the one that it began with.
 */
import { Duration, Effect, Result, Schema } from "effect"
import { alwaysClosed, HookFault, type HookHandler } from "#core/hook.ts"
import { definePlugin, type Plugin, PluginFailed } from "#core/plugin.ts"
import { questionNamed } from "#policies/questions.ts"
import { makeOutgoing, type Outgoing } from "#runtime/outgoing/outgoing.ts"
import { makePolicyIo, type PolicyIoServer } from "#runtime/plugin-host/io/policy-io.ts"
import { callLimits } from "#runtime/plugin-host/packages/budget.ts"
import { grantedSettings } from "#runtime/plugin-host/packages/granted-settings.ts"
import { makeLogValve } from "#runtime/plugin-host/packages/log-valve.ts"
import { type Manifest, settingsSchemaOf } from "#runtime/plugin-host/packages/manifest.ts"
import { abi } from "#runtime/plugin-host/packages/manifest-schema.ts"
import { admitPackage, type Package } from "#runtime/plugin-host/packages/package.ts"
import type { Permissions } from "#runtime/plugin-host/packages/permissions.ts"
import {
  type Asked,
  type MemberExit,
  openHere,
  openThread,
  type ThreadFailed,
} from "#runtime/plugin-host/packages/policy-member.ts"
import { makePool, type Pool } from "#runtime/plugin-host/packages/pool.ts"
import { withReady } from "#runtime/plugin-host/packages/ready.ts"
import { withSpare } from "#runtime/plugin-host/packages/spare.ts"
import { tierOf, waits } from "#runtime/plugin-host/packages/tier.ts"
import type { Admitted } from "#runtime/plugin-host/wasm/admission.ts"
import type { PolicyFaultReason } from "#runtime/plugin-host/wasm/policy-instance.ts"

/** An answer in this thread is one step: a second instance would never be asked. */
const instancesHere = 1
/** Threads of one policy that answer at the same time, its spare apart. */
const threads = 2
/** Questions that wait for one policy. */
const poolQueue = 64

/** Settings of a plugin that says nothing of their form: any names. */
const anySettings = Schema.Record(Schema.String, Schema.Unknown)

/** `outgoing`: what it calls hosts with, where it was granted some. */
export const policyPlugin = (
  found: Pick<Package, "manifest" | "wasm">,
  grants: Permissions,
  outgoing: Outgoing["Service"] = makeOutgoing(),
): Plugin => {
  const { manifest } = found
  const schema = settingsSchemaOf(manifest.settings)
  return definePlugin<unknown>({
    name: manifest.name,
    version: manifest.version,
    ...(manifest.description === undefined ? {} : { description: manifest.description }),
    engine: manifest.engine,
    // readManifest refused a manifest whose settings cannot be used
    settings: Result.getOrUndefined(schema) ?? anySettings,
    // only what has a say is missed where it cannot run
    hooks: manifest.mode === "enforce" ? Object.keys(manifest.hooks) : [],
    setup: Effect.fnUntraced(
      function* (settings: unknown) {
        if (manifest.mode === "disabled") return { hooks: [] }
        const io = waits(manifest) ? yield* makePolicyIo({ plugin: manifest.name, grants, outgoing }) : undefined
        const pool = yield* poolFor(yield* admitPackage(found), manifest, io)
        return { hooks: handlersOf(manifest, grantedSettings(settings, grants), pool, makeLogValve(manifest.name)) }
      },
      Effect.mapError(({ message }) => new PluginFailed({ message })),
    ),
  })
}

type PolicyPool = Pool<Asked, MemberExit, ThreadFailed>

const poolFor = Effect.fnUntraced(function* (admitted: Admitted, manifest: Manifest, io?: PolicyIoServer) {
  const limits = callLimits(manifest.limits)
  const bounds = { queue: poolQueue, wait: Duration.millis(manifest.limits.wallClock) }
  if (tierOf(manifest) === "here") {
    // compiled before the first question, which has no time for it
    const member = yield* openHere(admitted, limits)
    const pool: PolicyPool = yield* makePool({ ...bounds, open: Effect.succeed(member), size: instancesHere })
    return pool
  }
  const opening = openThread(admitted, limits, io)
  const spare = yield* withSpare(opening)
  // with the spare, as many are open as can be asked at once
  const { open } = yield* withReady(threads - 1, opening, spare.open)
  return yield* makePool({ ...bounds, open, size: threads })
})

const handlersOf = (
  manifest: Manifest,
  config: ReadonlyMap<string, string>,
  pool: PolicyPool,
  log: ReturnType<typeof makeLogValve>,
): ReadonlyArray<HookHandler> =>
  Object.entries(manifest.hooks).map(([name, exported]) => {
    const question = questionNamed(name)
    return {
      question: name,
      priority: manifest.priority,
      mode: manifest.mode === "shadow" ? "shadow" : "enforce",
      failure: question !== undefined && alwaysClosed(question) ? "closed" : manifest.failure,
      timeLimit: Duration.millis(manifest.limits.wallClock),
      version: manifest.version,
      digest: `sha256:${manifest.sha256}`,
      abi,
      answer: Effect.fnUntraced(function* (input: string) {
        const exit = yield* pool
          .ask({ function: exported, input, config })
          .pipe(Effect.mapError(({ message }) => new HookFault({ reason: "unavailable", message })))
        yield* log(exit.logs)
        if (!exit.ok) {
          return yield* new HookFault({
            reason: faultReasons[exit.reason],
            message: `${exit.reason}: ${exit.message}`,
            fuel: exit.fuelUsed,
            ...(exit.io === undefined ? {} : { io: exit.io }),
          })
        }
        return {
          answer: exit.value,
          noOpinion: exit.value === null,
          fuel: exit.fuelUsed,
          ...(exit.io === undefined ? {} : { io: exit.io }),
        }
      }),
    }
  })

/** In the words of the log of a run. A question that is too large, or a busy pool, is no fault of the policy. */
const faultReasons: Readonly<Record<PolicyFaultReason, HookFault["reason"]>> = {
  out_of_fuel: "out_of_fuel",
  out_of_memory: "out_of_memory",
  exchange_exhausted: "out_of_memory",
  stack_exhausted: "trap",
  stack_overflow: "trap",
  unreachable: "trap",
  memory_out_of_bounds: "trap",
  table_out_of_bounds: "trap",
  integer_divide_by_zero: "trap",
  integer_overflow: "trap",
  invalid_conversion: "trap",
  indirect_call: "trap",
  trap: "trap",
  host_error: "trap",
  instantiation: "trap",
  aborted: "threw",
  policy_error: "threw",
  no_such_function: "threw",
  answer_too_large: "bad_answer",
  bad_answer: "bad_answer",
  input_too_large: "unavailable",
}
