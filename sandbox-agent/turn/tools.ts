/** The tools of a turn: those of the engine and those of the service, without what is withheld. */
import { Effect } from "effect"
import type { ModelTool } from "#core/wire/model.ts"
import type { ServiceTool, TurnRequest, TurnWorld } from "#core/wire/turn.ts"
import type { Tool } from "#sandbox-agent/turn/tool.ts"
import { applyPatchTool } from "#sandbox-agent/turn/tools/apply-patch.ts"
import { askQuestion } from "#sandbox-agent/turn/tools/ask-question.ts"
import { createFile } from "#sandbox-agent/turn/tools/create-file.ts"
import { fileSearchTool, glob } from "#sandbox-agent/turn/tools/file-search.ts"
import { grepSearch } from "#sandbox-agent/turn/tools/grep-search.ts"
import { readFile } from "#sandbox-agent/turn/tools/read-file.ts"
import { reportIntent } from "#sandbox-agent/turn/tools/report-intent.ts"
import { reportOutcome } from "#sandbox-agent/turn/tools/report-outcome.ts"
import { runCommand } from "#sandbox-agent/turn/tools/run-command.ts"
import { strReplaceEditor } from "#sandbox-agent/turn/tools/str-replace-editor.ts"
import { webFetch } from "#sandbox-agent/turn/tools/web-fetch.ts"
import { writeFile } from "#sandbox-agent/turn/tools/write-file.ts"

const own: ReadonlyArray<Tool> = [
  runCommand,
  readFile,
  writeFile,
  createFile,
  strReplaceEditor,
  applyPatchTool,
  grepSearch,
  fileSearchTool,
  reportIntent,
  reportOutcome,
  askQuestion,
  webFetch,
]

export interface Toolbox {
  readonly find: (name: string) => Tool | undefined
  /** As the model sees them. */
  readonly offered: ReadonlyArray<ModelTool>
}

/** A tool of the service does not take the place of one of the engine. */
export const toolbox = ({ withheldTools }: TurnRequest, { tools }: TurnWorld): Toolbox => {
  const names = new Set(own.map(({ name }) => name))
  const all = [...own, ...tools.filter(({ name }) => !names.has(name)).map(ofService)].filter(
    ({ name }) => !withheldTools.includes(name),
  )
  const callable = new Map([...all, ...(all.includes(fileSearchTool) ? [glob] : [])].map((tool) => [tool.name, tool]))
  return {
    find: (name) => callable.get(name),
    offered: all.map(({ name, description, inputSchema }) => ({ name, description, inputSchema })),
  }
}

const ofService = ({ name, description, inputSchema, call }: ServiceTool): Tool => ({
  name,
  description,
  inputSchema,
  hasEffect: true,
  call: (input, { callId }) => Effect.map(call(input, callId), (answer) => ({ answer, events: [] })),
})

/** Their calls are the agent's own affair: no `tool.*` event tells of them. */
export const isSuppressed = (toolName: string): boolean => toolName === "report_outcome" || toolName === "glob"
