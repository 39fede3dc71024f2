/**
 * The ids of runs and projects: UUIDs in lower case, one spelling each, so that equal ids are equal
 * strings everywhere (log, rows, URLs). Ids are checked here before they reach a query.
 */
import { Schema } from "effect"

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/

/** Characters of an id; what follows in a sub-stream's id is its suffix. */
const idLength = 36

export const subStreams = ["rai", "scribe", "rubberduck"] as const
export type SubStream = (typeof subStreams)[number]

export const isId = (text: string): boolean => uuid.test(text)

export const Id = Schema.String.check(Schema.isPattern(uuid))

export const newId = (): string => crypto.randomUUID()

/** `{runId}-rai`: a log beside the run's own. */
export const subStreamId = (runId: string, suffix: SubStream): string => `${runId}-${suffix}`

/** The run that a stream belongs to: its own, or the one of a sub-stream. Undefined for anything else. */
export const runIdOf = (streamId: string): string | undefined => {
  const runId = streamId.slice(0, idLength)
  if (!isId(runId)) return undefined
  const rest = streamId.slice(idLength)
  return rest === "" || subStreams.some((suffix) => rest === `-${suffix}`) ? runId : undefined
}
