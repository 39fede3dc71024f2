/**
 * Where in its life this replica is. Requests are answered while it is `serving`; probes always are.
 * It only moves forward: starting, serving, draining.
 */
export type Phase = "starting" | "serving" | "draining"

export interface Lifecycle {
  readonly phase: () => Phase
  /** From now on requests are answered. Without effect while draining. */
  readonly serve: () => void
  /** From now on new requests are turned away. */
  readonly drain: () => void
}

export const makeLifecycle = (initial: Phase = "starting"): Lifecycle => {
  let phase = initial
  return {
    phase: () => phase,
    serve: () => {
      if (phase === "starting") phase = "serving"
    },
    drain: () => {
      phase = "draining"
    },
  }
}
