/** `apply_patch`: several changes of several files, all or none. */
import { Effect, Schema } from "effect"
import { changing } from "#sandbox-agent/turn/files/effect.ts"
import { applyPatch } from "#sandbox-agent/turn/patch/apply.ts"
import { defineTool, done } from "#sandbox-agent/turn/tool.ts"

const description = `Changes files by a patch; all of it is done, or nothing.
*** Begin Patch
*** Add File: path/new.txt
+every line of it
*** Update File: path/old.txt
*** Move to: path/other-name.txt (where it is renamed)
@@ a line before the change, where that helps to find it
 a line of context
-a line that goes
+a line that comes
*** Delete File: path/gone.txt
*** End Patch`

export const applyPatchTool = defineTool({
  name: "apply_patch",
  description,
  input: Schema.Struct({ patch: Schema.String }),
  hasEffect: true,
  run: ({ patch }, { request }) =>
    Effect.map(
      changing(() => applyPatch(request.workingDirectory, patch)),
      (lines) => done(lines.join("\n")),
    ),
})
