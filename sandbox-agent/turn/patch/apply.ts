/** Applies a patch to the checkout: all of its files, or none. */
import { locate, type Place } from "#sandbox-agent/turn/files/locate.ts"
import { readPlace } from "#sandbox-agent/turn/files/read.ts"
import { refuse } from "#sandbox-agent/turn/files/refused.ts"
import { applyChanges, type Change, maxWriteBytes } from "#sandbox-agent/turn/files/write.ts"
import { applyHunks } from "#sandbox-agent/turn/patch/apply-hunks.ts"
import { maxPatchBytes, parsePatch, type Section } from "#sandbox-agent/turn/patch/parse.ts"

/** What was done, a line for each file. Fails with `FileRefused`, and nothing has changed. */
export const applyPatch = async (root: string, patch: string): Promise<ReadonlyArray<string>> => {
  if (Buffer.byteLength(patch) > maxPatchBytes) refuse("too_large", `The patch has more than ${maxPatchBytes} bytes.`)
  const parsed = parsePatch(patch)
  if ("problem" in parsed) return refuse("failed", `Line ${parsed.line} of the patch: ${parsed.problem}`)
  await using places = new AsyncDisposableStack()
  const plan: Plan = { root, places, changes: [], taken: new Set() }
  const done: Array<string> = []
  for (const section of parsed.sections) done.push(await planned(plan, section))
  await applyChanges(root, plan.changes)
  return done
}

interface Plan {
  readonly root: string
  readonly places: AsyncDisposableStack
  readonly changes: Array<Change>
  /** Files that a section before is about: two for one file have no clear meaning. */
  readonly taken: Set<string>
}

const planned = async (plan: Plan, section: Section): Promise<string> => {
  switch (section.kind) {
    case "add": {
      const place = await find(plan, section.path)
      plan.changes.push({ kind: "write", place, text: section.text, how: "create" })
      return `added ${section.path}`
    }
    case "delete": {
      const place = await find(plan, section.path, true)
      plan.changes.push({ kind: "delete", place })
      return `deleted ${section.path}`
    }
    case "update":
      return await plannedUpdate(plan, section)
  }
}

const plannedUpdate = async (plan: Plan, section: Extract<Section, { kind: "update" }>): Promise<string> => {
  const { path, moveTo, hunks } = section
  const place = await find(plan, path)
  const old = await readPlace(place, maxWriteBytes)
  if (old.cut) refuse("too_large", `${place.shown}: more than ${maxWriteBytes} bytes`)
  const applied = applyHunks(path, old.text, hunks)
  if ("problem" in applied) return refuse("failed", applied.problem)
  const { text } = applied
  if (moveTo === undefined) {
    plan.changes.push({ kind: "write", place, text, how: "replace" })
    return `updated ${path}`
  }
  const source = await find(plan, path, true, false)
  const to = await find(plan, moveTo)
  const mode = place.target.kind === "entry" ? { mode: place.target.stats.mode & 0o777 } : {}
  plan.changes.push({ kind: "write", place: to, text, how: "create", ...mode }, { kind: "delete", place: source })
  return `moved ${path} to ${moveTo}`
}

const find = async ({ root, places, taken }: Plan, path: string, linkItself = false, once = true): Promise<Place> => {
  const place = places.use(await locate(root, path, { linkItself }))
  if (once && taken.has(place.key)) refuse("failed", `${place.shown}: the patch has two sections for this file`)
  taken.add(place.key)
  return place
}
