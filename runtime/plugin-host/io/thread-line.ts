/**
 * The line between a policy's thread and the service: the thread asks and is blocked until it is answered, the service answers whenever
 * it has the answer. One request at a time. Whoever gives up ends the thread: nothing here waits with a limit of its own.
 */
import { MessageChannel, type MessagePort, receiveMessageOnPort } from "node:worker_threads"
import { Effect, Queue } from "effect"
import type { IoSession } from "#runtime/plugin-host/io/policy-io.ts"
import type { IoCall, PolicyIo } from "#runtime/plugin-host/wasm/io-request.ts"

/** What the thread gets. */
export interface ThreadEnd {
  readonly port: MessagePort
  /** One 32-bit number: 1 when the answer has been sent. */
  readonly signal: SharedArrayBuffer
}

export interface ServiceEnd {
  readonly thread: ThreadEnd
  /** Serves one decision until it is interrupted. */
  readonly serve: (session: IoSession) => Effect.Effect<never>
  readonly close: () => void
}

interface Asked {
  readonly call: IoCall
  readonly request: Uint8Array
}

/** In the thread. */
export const askingOn = ({ port, signal }: ThreadEnd): PolicyIo => {
  const answered = new Int32Array(signal)
  return (call, request) => {
    Atomics.store(answered, 0, 0)
    port.postMessage({ call, request } satisfies Asked)
    Atomics.wait(answered, 0, 0)
    const received = receiveMessageOnPort(port)
    if (received === undefined) throw new Error("the answer is not there")
    return received.message
  }
}

/** In the service. */
export const openLine = (): ServiceEnd => {
  const { port1, port2 } = new MessageChannel()
  const signal = new SharedArrayBuffer(4)
  const answered = new Int32Array(signal)
  const asked = Effect.runSync(Queue.sliding<Asked>(1))
  port1.on("message", (message: Asked) => Queue.offerUnsafe(asked, message))
  // the thread keeps the process, as long as it is there
  port1.unref()
  const answerNext = Effect.fnUntraced(function* (session: IoSession) {
    const { call, request } = yield* Queue.take(asked)
    port1.postMessage(yield* session.serve(call, request))
    Atomics.store(answered, 0, 1)
    Atomics.notify(answered, 0)
  })
  return {
    thread: { port: port2, signal },
    serve: (session) => Effect.forever(answerNext(session)),
    close: () => port1.close(),
  }
}
