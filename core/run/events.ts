/** Every event type that the core itself owns, in one list: what is declared, and what may end a run. */
import type { EventType } from "#core/event.ts"
import * as assembly from "#core/run/events/assembly.ts"
import * as control from "#core/run/events/control.ts"
import * as coordinator from "#core/run/events/coordinator.ts"
import * as review from "#core/run/events/review.ts"
import * as run from "#core/run/events/run.ts"
import * as sandbox from "#core/run/events/sandbox.ts"
import * as steering from "#core/run/events/steering.ts"
import * as turn from "#core/run/events/turn.ts"

type Declared = Pick<EventType<never>, "type" | "mayEndRun">

const isDeclaration = (value: unknown): value is Declared =>
  typeof value === "object" && value !== null && "mayEndRun" in value

export const runEvents: ReadonlyArray<Declared> = [assembly, control, coordinator, review, run, sandbox, steering, turn]
  .flatMap((file): ReadonlyArray<unknown> => Object.values(file))
  .filter(isDeclaration)

/** Types after which a run may have ended. */
export const runEndings: ReadonlySet<string> = new Set(runEvents.filter((e) => e.mayEndRun).map((e) => e.type))
