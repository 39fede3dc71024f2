/** The faults of one plugin: the latest for people, and whether there were too many in too short a time. */

/** This many faults … */
export const faultLimit = 5
/** … within this many milliseconds, and the plugin is taken out. */
export const faultWindow = 60_000
/** The latest faults that are kept. */
export const keptFaults = 50
/** Characters of a message that are kept. */
const maxMessage = 500

export interface Fault {
  /** Milliseconds since 1970. */
  readonly at: number
  readonly kind: "start" | "request" | "hook" | "background"
  /** The route, the question or the task. */
  readonly subject: string
  readonly message: string
}

export const makeFaultLog = () => {
  const kept: Array<Fault> = []
  let counted: ReadonlyArray<number> = []
  return {
    /** True when this is one too many. */
    add: (fault: Fault): boolean => {
      kept.push({ ...fault, message: fault.message.slice(0, maxMessage) })
      if (kept.length > keptFaults) kept.shift()
      counted = [...counted, fault.at].filter((at) => at > fault.at - faultWindow).slice(-faultLimit)
      return counted.length >= faultLimit
    },
    /** The newest first. */
    latest: (): ReadonlyArray<Fault> => kept.toReversed(),
    /** Starts counting anew; what is kept stays. */
    forgive: (): void => {
      counted = []
    },
  }
}

export type FaultLog = ReturnType<typeof makeFaultLog>
