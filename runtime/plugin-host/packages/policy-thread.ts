/** The program of a policy's own thread: answers one question after the other, for policy-member.ts. */
import { parentPort, workerData } from "node:worker_threads"
import { Effect } from "effect"
import { askingOn } from "#runtime/plugin-host/io/thread-line.ts"
import type { Asked, ThreadData } from "#runtime/plugin-host/packages/policy-member.ts"
import { Policy } from "#runtime/plugin-host/wasm/policy-instance.ts"

// given by policy-member.ts, which alone starts this
const { admitted, limits, line } = workerData as ThreadData
const policy = await Effect.runPromise(Policy.load(admitted, limits))
const io = line === undefined ? {} : { io: askingOn(line) }
parentPort?.on("message", (asked: Asked) => parentPort?.postMessage(policy.askNow({ ...asked, ...io })))
parentPort?.postMessage("ready")
