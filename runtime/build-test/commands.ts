/**
 * Which commands build and test a repository, found from its own files: what the repository says in
 * `.svc/build.yml`, else what the files of its build tool stand for. Pure: the files are given.
 */
import { Result, Schema } from "effect"
import { parse } from "yaml"
import type { BuildCommand, TopFiles } from "#runtime/build-test/build-command.ts"
import { kinds } from "#runtime/build-test/kinds.ts"

/** `Nothing`: the repository has no command that could be found. */
export type Found =
  | { readonly _tag: "Commands"; readonly source: string; readonly commands: ReadonlyArray<BuildCommand> }
  | { readonly _tag: "Nothing" }
  | { readonly _tag: "Unreadable"; readonly source: string; readonly message: string }

export const ownFile = ".svc/build.yml"

const maxCommands = 20

const OwnFile = Schema.Struct({
  commands: Schema.Array(
    Schema.Struct({
      name: Schema.String.check(Schema.isPattern(/^[A-Za-z0-9 ._-]{1,64}$/)),
      run: Schema.String.check(Schema.isMinLength(1), Schema.isMaxLength(8_192)),
    }),
  ).check(Schema.isMinLength(1), Schema.isMaxLength(maxCommands)),
})

const readOwn = (text: string): Found => {
  const parsed = Result.try(() => parse(text, { maxAliasCount: 0 }) as unknown)
  if (Result.isFailure(parsed)) return { _tag: "Unreadable", source: ownFile, message: "It is not valid YAML." }
  const decoded = Schema.decodeUnknownResult(OwnFile)(parsed.success)
  if (Result.isFailure(decoded)) {
    return { _tag: "Unreadable", source: ownFile, message: String(decoded.failure.message) }
  }
  const commands = decoded.success.commands.map(({ name, run }) => ({ name, command: run }))
  return { _tag: "Commands", source: ownFile, commands }
}

/** The first kind that has a command counts. */
export const findCommands = (top: TopFiles): Found => {
  const own = top.read(ownFile)
  if (own !== undefined) return readOwn(own)
  for (const { files, commandsOf } of kinds) {
    const source = top.names.filter((name) => files.test(name)).sort()[0]
    if (source === undefined) continue
    const commands = commandsOf(top, source)
    if (commands.length > 0) return { _tag: "Commands", source, commands }
  }
  return { _tag: "Nothing" }
}
