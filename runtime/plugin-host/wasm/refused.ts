/** Why a module is not admitted. Thrown while parsing, a typed failure from `admit` on. */
import { Schema } from "effect"

export const refusalReasons = [
  /** Not a WebAssembly binary, or a broken one. */
  "malformed",
  /** A section, type, opcode or encoding that admission does not know, or knows and does not allow. */
  "unsupported",
  /** Too large in some respect. */
  "limit",
  /** An import that was not granted. */
  "import_not_granted",
  /** A granted import, with another signature than the granted one. */
  "import_type",
  /** The module uses a name of the host's own. */
  "reserved_name",
  /** The binary is well-formed, and the engine finds it invalid. */
  "invalid",
] as const
export type RefusalReason = (typeof refusalReasons)[number]

export class AdmissionRefused extends Schema.TaggedError<AdmissionRefused>()("AdmissionRefused", {
  reason: Schema.Literals(refusalReasons),
  message: Schema.String,
  /** Byte in the module at which it was seen. */
  offset: Schema.optionalKey(Schema.Int),
  /** Index in the function index space, imports included. */
  functionIndex: Schema.optionalKey(Schema.Int),
  /** `module.name` of the import. */
  import: Schema.optionalKey(Schema.String),
}) {}

export interface Place {
  readonly offset?: number
  readonly functionIndex?: number
  readonly import?: string
}

/** An `AdmissionRefused` whose message ends with the place. */
export const refused = (reason: RefusalReason, message: string, place: Place = {}): AdmissionRefused => {
  const where = [
    place.functionIndex === undefined ? "" : `function ${place.functionIndex}`,
    place.offset === undefined ? "" : `byte ${place.offset}`,
  ].filter((part) => part !== "")
  return new AdmissionRefused({
    reason,
    message: where.length === 0 ? `${message}.` : `${message} (${where.join(", ")}).`,
    ...place,
  })
}
