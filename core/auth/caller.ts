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

export const anonymous: Caller = { kind: "anonymous" }
export const internalSubject = "svc-internal"

/** The name that a stored record keeps of the caller. */
export const subjectOf = (caller: Caller): string =>
  caller.kind === "user" ? caller.subject : caller.kind === "internal" ? internalSubject : "anonymous"
