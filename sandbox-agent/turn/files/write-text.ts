/** One file as a whole. */
import { locate } from "#sandbox-agent/turn/files/locate.ts"
import { applyChanges } from "#sandbox-agent/turn/files/write.ts"

/** `any` replaces what is there, `create` fails then. */
export const writeText = async (root: string, path: string, text: string, how: "create" | "any"): Promise<void> => {
  await using place = await locate(root, path)
  await applyChanges(root, [{ kind: "write", place, text, how }])
}
