/** What all commands are made with: the options that many of them have, examples in their help, and how one ends. */
import { Option } from "commander"
import type { Outcome } from "#runtime/cli/outcome.ts"

export const configOption = () =>
  new Option("-c, --config <file>", "settings file; else svc.yml, svc.yaml or svc.json here")
export const dataOption = () => new Option("-d, --data <dir>", "data folder (Data:Directory)")
export const jsonOption = () => new Option("--json", "print JSON")

/** The process ends with this exit code once all is written. */
export const finish = (outcome: Outcome): void => {
  process.exitCode = outcome
}

/** Stands after the help of a command. */
export const examples = (...lines: ReadonlyArray<string>): string =>
  `\nExamples:\n${lines.map((line) => `  $ ${line}`).join("\n")}\n`
