/**
 * Who answers which question. The set is exchanged as a whole: an ask holds the set that it began with, and an
 * exchange says when nobody holds an earlier one any more, so that a plugin's scope closes after its last answer.
 */
import { Effect } from "effect"
import type { HookHandler } from "#core/hook.ts"

/** A handler with the plugin that it belongs to. */
export interface Registered extends HookHandler {
  readonly plugin: string
  readonly version: string
}

export interface Answering {
  /** In the order in which they are asked. */
  readonly enforced: ReadonlyArray<Registered>
  readonly shadows: ReadonlyArray<Registered>
}

interface Snapshot {
  readonly questions: ReadonlyMap<string, Answering>
  holders: number
  readonly onIdle: Array<() => void>
}

const nobody: Answering = { enforced: [], shadows: [] }

export interface Held extends Answering {
  /** Exactly once. */
  readonly release: () => void
}

export interface Replaced {
  /** Ends when no ask uses earlier handlers any more. */
  readonly unused: Effect.Effect<void>
}

export const makeRegistry = () => {
  const byPlugin = new Map<string, ReadonlyArray<Registered>>()
  const retired = new Set<Snapshot>()
  let current: Snapshot = snapshotOf([])

  const hold = (question: string): Held => {
    const held = current
    held.holders++
    return { ...(held.questions.get(question) ?? nobody), release: () => release(held) }
  }

  const release = (held: Snapshot): void => {
    held.holders--
    if (held.holders > 0 || held === current) return
    retired.delete(held)
    for (const wake of held.onIdle.splice(0)) wake()
  }

  /** The handlers of this plugin from now on. */
  const replace = (plugin: string, handlers: ReadonlyArray<Registered>): Replaced => {
    if (handlers.length === 0) byPlugin.delete(plugin)
    else byPlugin.set(plugin, handlers)
    if (current.holders > 0) retired.add(current)
    current = snapshotOf([...byPlugin.values()].flat())
    return { unused: Effect.forEach([...retired], idle, { discard: true }) }
  }

  const idle = (snapshot: Snapshot): Effect.Effect<void> =>
    Effect.callback<void>((resume) => {
      if (snapshot.holders === 0) resume(Effect.void)
      else snapshot.onIdle.push(() => resume(Effect.void))
    })

  return { hold, replace, handlers: (): ReadonlyArray<Registered> => [...byPlugin.values()].flat() }
}

export type Registry = ReturnType<typeof makeRegistry>

const snapshotOf = (handlers: ReadonlyArray<Registered>): Snapshot => {
  const ordered = handlers.toSorted(inOrder)
  const questions = new Map<string, Answering>()
  for (const [question, asked] of Map.groupBy(ordered, (each) => each.question)) {
    questions.set(question, {
      enforced: asked.filter(({ mode }) => mode === "enforce"),
      shadows: asked.filter(({ mode }) => mode === "shadow"),
    })
  }
  return { questions, holders: 0, onIdle: [] }
}

/** Priority, then the plugin's name; handlers of one plugin stay in its own order. */
export const inOrder = (a: Registered, b: Registered): number =>
  a.priority - b.priority || (a.plugin < b.plugin ? -1 : a.plugin > b.plugin ? 1 : 0)
