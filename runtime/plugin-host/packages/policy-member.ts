/**
 * The instances that a policy's pool is made of: in this thread, or in one of their own. A thread that is given up on, fails or
 * ends is spent; it sees nothing of the process but the module, the question and the settings that were granted. What it is granted
 * beyond them is done here, for it: the thread asks and waits.
 */
import { Worker } from "node:worker_threads"
import { Data, Duration, Effect } from "effect"
import type { IoUse } from "#core/hook/handler.ts"
import type { PolicyIoServer } from "#runtime/plugin-host/io/policy-io.ts"
import { openLine, type ServiceEnd, type ThreadEnd } from "#runtime/plugin-host/io/thread-line.ts"
import type { Member } from "#runtime/plugin-host/packages/pool.ts"
import type { Admitted } from "#runtime/plugin-host/wasm/admission.ts"
import type { PolicyLimits } from "#runtime/plugin-host/wasm/policy-call.ts"
import { Policy, type PolicyExit, type Question } from "#runtime/plugin-host/wasm/policy-instance.ts"

export type Asked = Pick<Question, "function" | "input" | "config">
/** How it ended, and what it asked for meanwhile. */
export type MemberExit = PolicyExit & { readonly io?: IoUse }
export type PolicyMember = Member<Asked, MemberExit>

export interface ThreadData {
  readonly admitted: Admitted
  readonly limits: PolicyLimits
  /** Absent: it is granted nothing. */
  readonly line?: ThreadEnd
}

export class ThreadFailed extends Data.TaggedError("ThreadFailed")<{ readonly message: string }> {}

/** A thread starts in about 0.2 s, most of it for loading; on a busy machine in several. */
const startLimit = Duration.seconds(15)
/** Heap of a thread in MiB, the policy's own memory apart. */
const threadHeap = 128

export const openHere = (admitted: Admitted, limits: PolicyLimits): Effect.Effect<PolicyMember> =>
  Effect.map(Policy.load(admitted, limits), (policy) => ({
    ask: (question) => Effect.sync(() => policy.askNow(question)),
    // it makes itself a new instance after a fault
    spent: () => false,
    close: Effect.void,
  }))

export const openThread = (
  admitted: Admitted,
  limits: PolicyLimits,
  io?: PolicyIoServer,
): Effect.Effect<PolicyMember, ThreadFailed> =>
  Effect.suspend(() => {
    const line = io === undefined ? undefined : openLine()
    const worker = start({ admitted, limits, ...(line === undefined ? {} : { line: line.thread }) })
    let spent = false
    // also where nobody asks any more: a thread that fails while it is being ended would take the service with it
    worker.on("error", () => {
      spent = true
    })
    worker.once("exit", () => {
      spent = true
      line?.close()
    })
    const end = Effect.suspend(() => {
      spent = true
      return Effect.promise(() => worker.terminate())
    }).pipe(Effect.asVoid)

    const member: PolicyMember = {
      ask: (asked) =>
        serving(
          line,
          io,
          next<PolicyExit>(worker, () => worker.postMessage(asked)).pipe(
            Effect.catch(({ message }) => {
              spent = true
              return Effect.succeed<PolicyExit>({ ok: false, reason: "host_error", message, fuelUsed: 0, logs: [] })
            }),
          ),
          // whoever asked has given up, or it cannot be served: what is still running in there is ended
        ).pipe(Effect.onError(() => end)),
      spent: () => spent,
      close: end,
    }
    return next<"ready">(worker, () => {}).pipe(
      Effect.timeoutOrElse({
        duration: startLimit,
        orElse: () => new ThreadFailed({ message: "The thread of the policy did not start in time." }),
      }),
      Effect.as(member),
      Effect.onError(() => end),
    )
  })

const serving = (
  line: ServiceEnd | undefined,
  io: PolicyIoServer | undefined,
  answer: Effect.Effect<PolicyExit>,
): Effect.Effect<MemberExit> =>
  Effect.suspend(() => {
    if (line === undefined || io === undefined) return answer
    const session = io.begin()
    return Effect.map(Effect.raceFirst(answer, line.serve(session)), (exit) => {
      const used = session.used()
      return used === undefined ? exit : { ...exit, io: used }
    })
  })

const start = (workerData: ThreadData): Worker =>
  new Worker(new URL("policy-thread.ts", import.meta.url), {
    workerData,
    ...(workerData.line === undefined ? {} : { transferList: [workerData.line.port] }),
    env: {},
    execArgv: [],
    stdin: false,
    resourceLimits: { maxOldGenerationSizeMb: threadHeap },
  })

/** The next message, once what makes the thread send it is begun. Fails where the thread ends instead. */
const next = <Message>(worker: Worker, begin: () => void): Effect.Effect<Message, ThreadFailed> =>
  Effect.callback((resume) => {
    const failed = (message: string) => resume(Effect.fail(new ThreadFailed({ message })))
    const onMessage = (message: Message) => {
      forget()
      resume(Effect.succeed(message))
    }
    const onError = (error: unknown) => {
      forget()
      failed(`The thread of the policy failed: ${error instanceof Error ? error.message : String(error)}`)
    }
    const onExit = () => {
      forget()
      failed("The thread of the policy has ended.")
    }
    const forget = () => {
      worker.off("message", onMessage)
      worker.off("error", onError)
      worker.off("exit", onExit)
    }
    worker.on("message", onMessage)
    worker.on("error", onError)
    worker.on("exit", onExit)
    begin()
    return Effect.sync(forget)
  })
