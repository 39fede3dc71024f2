/**
 * What a third-party plugin is handed, so that it needs to import nothing of the service: a plugin that brought its
 * own copy of a library would not be understood. Its types come from here:
 *
 *     import type { PluginModule } from "svc/runtime/plugin-host/kit.ts"
 *     const plugin: PluginModule = ({ definePlugin, Effect }) => definePlugin({ … })
 *     export default plugin
 */
import * as effect from "effect"
import { Access } from "#core/auth/access.ts"
import { allows } from "#core/auth/role.ts"
import { defineEvent, withReplayKey } from "#core/event.ts"
import { EventLog } from "#core/event-log.ts"
import { allowed, HookFault, Hooks, handler, refusedBecause } from "#core/hook.ts"
import { background, definePlugin, type Plugin, PluginFailed, tablePrefix } from "#core/plugin.ts"
import { Metrics } from "#core/ports/metrics.ts"
import { Projects } from "#core/project/projects.ts"
import { query } from "#core/query.ts"
import { Refusal, refuse, refuseInput } from "#core/refusal.ts"
import { access, reply, route } from "#core/route.ts"
import { Runs } from "#core/run/runs.ts"
import { Sql } from "#core/sql.ts"
import { toolFor } from "#core/tool.ts"
import { questions, questionsByKey } from "#policies/questions.ts"

export const kit = {
  /** The library, whole: `effect.Stream`, `effect.Schedule`, … The four that every plugin needs are beside it. */
  effect,
  Effect: effect.Effect,
  Schema: effect.Schema,
  Duration: effect.Duration,
  Context: effect.Context,
  definePlugin,
  PluginFailed,
  background,
  tablePrefix,
  defineEvent,
  withReplayKey,
  route,
  access,
  allows,
  reply,
  query,
  Refusal,
  refuse,
  refuseInput,
  toolFor,
  handler,
  allowed,
  refusedBecause,
  HookFault,
  Sql,
  EventLog,
  Runs,
  Projects,
  Access,
  Hooks,
  Metrics,
  questions: { all: questions, ...questionsByKey },
} as const

export type PluginKit = typeof kit

/** The default export of a plugin's module. */
export type PluginModule = (kit: PluginKit) => Plugin
