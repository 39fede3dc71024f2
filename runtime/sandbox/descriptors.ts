/** The descriptors that the service itself was started with by mistake, and that a program would inherit from it. */
import { openSync, readdirSync, readFileSync } from "node:fs"

/** Flag of open(2) in the octal form of /proc. Node.js sets it on all that it opens. */
const closeOnExec = 0o2000000
/** Those that a program is given on purpose. */
const given = 4

/**
 * What to say in the place of descriptors 4 and above when a program is started, so that it inherits none of them:
 * /dev/null instead of what would be inherited; elsewhere `ignore` leaves it as it is, closed. Looked at once.
 */
export const inheritedCovers = (): ReadonlyArray<"ignore" | number> => {
  covers ??= coversOf(inheritedDescriptors())
  return covers
}

let covers: ReadonlyArray<"ignore" | number> | undefined

const coversOf = (inherited: ReadonlyArray<number>): ReadonlyArray<"ignore" | number> => {
  if (inherited.length === 0) return []
  const nothing = openSync("/dev/null", "r+")
  return Array.from({ length: Math.max(...inherited) - given + 1 }, (_, index) =>
    inherited.includes(index + given) ? nothing : "ignore",
  )
}

/** None where the system does not tell. */
const inheritedDescriptors = (): ReadonlyArray<number> => {
  try {
    return readdirSync("/proc/self/fd")
      .map(Number)
      .filter((descriptor) => descriptor >= given && isInherited(descriptor))
  } catch {
    return []
  }
}

const isInherited = (descriptor: number): boolean => {
  try {
    const [, flags] = /^flags:\s*([0-7]+)/m.exec(readFileSync(`/proc/self/fdinfo/${descriptor}`, "utf8")) ?? []
    return flags !== undefined && (Number.parseInt(flags, 8) & closeOnExec) === 0
  } catch {
    return false // it was that of the listing
  }
}
