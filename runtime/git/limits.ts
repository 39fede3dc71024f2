/** How much of a repository, or of what an agent made, the service takes. */
import { Duration } from "effect"

/** Files of a commit that a checkout is made of, or that one change touches. */
export const maxEntries = 500_000
/** Bytes of all files of a commit that is checked out. */
export const maxTreeBytes = 8 * 1_073_741_824
/** Bytes of one file that is committed. */
export const maxFileBytes = 104_857_600
/** Bytes of all files that one commit brings. */
export const maxChangedBytes = 268_435_456
/** Bytes of a list of names that git prints. */
export const maxListBytes = 268_435_456
/** Bytes of a file whose content is shown. */
export const maxShownBytes = 1_048_576
/** Bytes of a file's difference that is shown. */
export const maxShownDiffBytes = 1_048_576
/** Bytes at the beginning of a file that are searched for a NUL: the rule of git itself. */
export const probeBytes = 8_192
/** Bytes of a path. */
export const maxPathBytes = 4_096
/** Repositories inside of repositories that an agent made. */
export const maxNesting = 16

/** For a command that writes a whole tree, or many objects. */
export const longPatience = Duration.seconds(120)
/** Bytes of the packed objects of one publication: what one commit may bring, and its trees. */
export const maxPackBytes = 2 * maxChangedBytes
