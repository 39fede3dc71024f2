/** The program of a policy's own thread: answers one question after the other, for policy-member.ts. */
import { parentPort, workerData } from "node:worker_threads"
import { Effect } from "effect"
import type { Asked, ThreadData } from "#runtime/plugin-host/packages/policy-member.ts"
import { Policy } from "#runtime/plugin-host/wasm/policy-instance.ts"

// given by policy-member.ts, which alone starts this
const { admitted, limits } = workerData as ThreadData
const policy = await Effect.runPromise(Policy.load(admitted, limits))
parentPort?.on("message", (asked: Asked) => parentPort?.postMessage(policy.askNow(asked)))
parentPort?.postMessage("ready")
