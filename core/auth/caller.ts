/** Who is calling. Made by the authenticators at the edge, trusted from there on. */

export type Caller =
  /** No credential was sent, or none that the service knows: only public routes answer. */
  | { readonly kind: "anonymous" }
  | {
      readonly kind: "user"
      /** The accountable user: what a run or a project stores as its owner. */
      readonly subject: string
      /** How the caller proved it. Only `session` is a person signed in with the identity provider. */
      readonly via: "api-key" | "session" | "broker"
      readonly platformAdmin: boolean
    }
  /** `svc-internal`: the service's own pods; let in on opted-in, run-bound callbacks only. */
  | { readonly kind: "internal" }
  /** An agent of this run, that called back: let in where a route says so, within the run's project. */
  | {
      readonly kind: "run"
      readonly runId: string
      readonly projectId: string | null
      readonly agentName: string | null
      /** The run plans and assembles; its agent may decide what other agents cannot. */
      readonly coordinator: boolean
    }

export const anonymous: Caller = { kind: "anonymous" }
export const internalSubject = "svc-internal"

/** The name that a stored record keeps of the caller. */
export const subjectOf = (caller: Caller): string => {
  switch (caller.kind) {
    case "user":
      return caller.subject
    case "internal":
      return internalSubject
    case "run":
      return `run:${caller.runId}`
    case "anonymous":
      return "anonymous"
  }
}
