/** Why a file cannot be used. The message is for the model: it names paths as the model wrote them, never of this machine. */
import { Data } from "effect"

export type RefusedKind =
  /** The path itself is not allowed, or leads out of the checkout. */
  | "forbidden"
  | "not_found"
  | "exists"
  /** A folder where a file is needed, or the other way round. */
  | "wrong_kind"
  | "binary"
  | "too_large"
  /** The file changed while it was worked on, or the system said no. */
  | "failed"

export class FileRefused extends Data.TaggedError("FileRefused")<{
  readonly kind: RefusedKind
  readonly message: string
}> {}

export const refuse = (kind: RefusedKind, message: string): never => {
  throw new FileRefused({ kind, message })
}

/** A system error as what it means for the file. */
export const refusalOf = (error: unknown, shown: string): FileRefused => {
  if (error instanceof FileRefused) return error
  const code = codeOf(error)
  switch (code) {
    case "ENOENT":
      return new FileRefused({ kind: "not_found", message: `${shown}: there is no such file or folder` })
    case "EEXIST":
      return new FileRefused({ kind: "exists", message: `${shown}: it is there already` })
    case "ELOOP":
    case "ENOTDIR":
      return new FileRefused({ kind: "forbidden", message: `${shown}: a part of this path is no folder, or a link` })
    case "EISDIR":
      return new FileRefused({ kind: "wrong_kind", message: `${shown}: this is a folder` })
    case "ENAMETOOLONG":
      return new FileRefused({ kind: "forbidden", message: `${shown}: the name is too long` })
    default:
      return new FileRefused({ kind: "failed", message: `${shown}: ${code ?? "the file system failed"}` })
  }
}

export const codeOf = (error: unknown): string | undefined =>
  typeof error === "object" && error !== null && "code" in error && typeof error.code === "string"
    ? error.code
    : undefined
