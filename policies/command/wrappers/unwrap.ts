/** What a program runs in its turn, for every program that is known to run others. */
import type { Call } from "#policies/command/shell/call.ts"
import type { Inner, Unwrap } from "#policies/command/wrappers/inner.ts"
import { awk, interpreter, sed } from "#policies/command/wrappers/interpreters.ts"
import { otherWrappers } from "#policies/command/wrappers/others.ts"
import { prefix } from "#policies/command/wrappers/prefix.ts"
import { shellWrappers } from "#policies/command/wrappers/shells.ts"
import { commandPrompt, invokeExpression, powershell } from "#policies/command/wrappers/windows.ts"

const wrappers: ReadonlyMap<string, Unwrap> = new Map(
  Object.entries({
    ...otherWrappers,
    ...shellWrappers,
    awk,
    gawk: awk,
    mawk: awk,
    nawk: awk,
    sed,
    gsed: sed,
    powershell,
    pwsh: powershell,
    cmd: commandPrompt,
    iex: invokeExpression,
    "invoke-expression": invokeExpression,
  }),
)

export const unwrap = (call: Call): ReadonlyArray<Inner> => {
  if (call.program === undefined) return []
  return (wrappers.get(call.program) ?? ((other) => [...prefix(other), ...interpreter(other)]))(call)
}
