/** The answers of the gate, in words for the model. */
import type { Permission } from "#core/run/waits/standing.ts"
import type { Verdict } from "#core/wire/turn.ts"

export const allowed: Verdict = { _tag: "Allowed" }
export const refused = (reason: string): Verdict => ({ _tag: "Refused", reason })

/** `what` is what was asked for: `this command`. */
export const explain = (permission: Permission, what: string): Verdict => {
  switch (permission._tag) {
    case "Allowed":
      return allowed
    case "Waits":
      return permission
    case "Refused":
      return refused(
        permission.why === "denied"
          ? `A person refused ${what}. Do not try it again in another form: find another way, or say that it is needed.`
          : `Nobody decided about ${what} in time. Go on without it, or say at the end that it is needed.`,
      )
  }
}
