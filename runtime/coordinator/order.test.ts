import { expect, it } from "@effect/vitest"
import fc from "fast-check"
import { baseOf, inOrder } from "#runtime/coordinator/order.ts"
import { isEligible, type Subtask, type WorkPlan } from "#runtime/coordinator/state.ts"
import { aPlan, aSubtask } from "#runtime/coordinator/test/states.ts"

/** The definition: of those whose prerequisites are all there, the first that is not late, else the first. */
const byDefinition = ({ subtasks, dependencies }: WorkPlan): ReadonlyArray<Subtask> => {
  const late = (subtask: Subtask): boolean =>
    subtask.onTop ||
    subtasks.some((other) => other.onTop && above(dependencies, subtask.subtaskId).has(other.subtaskId))
  const ordered: Array<Subtask> = []
  while (ordered.length < subtasks.length) {
    const waiting = subtasks.filter((subtask) => !ordered.includes(subtask))
    const ready = waiting.filter((subtask) => {
      const needed = above(dependencies, subtask.subtaskId)
      return waiting.every(({ subtaskId }) => !needed.has(subtaskId))
    })
    const next = ready.find((subtask) => !late(subtask)) ?? ready[0]
    if (next === undefined) throw new Error("a circle")
    ordered.push(next)
  }
  return ordered
}

const above = (dependencies: WorkPlan["dependencies"], id: number): ReadonlySet<number> => {
  const found = new Set<number>()
  const add = (of: number): void =>
    dependencies.forEach(({ subtaskId, dependsOnSubtaskId }) => {
      if (subtaskId !== of || found.has(dependsOnSubtaskId)) return
      found.add(dependsOnSubtaskId)
      add(dependsOnSubtaskId)
    })
  add(id)
  return found
}

const plans = fc
  .array(
    fc.record({
      onTop: fc.boolean(),
      eligible: fc.boolean(),
      needs: fc.array(fc.nat(9), { maxLength: 3 }),
      id: fc.nat(),
    }),
    { minLength: 1, maxLength: 10 },
  )
  .map((parts): WorkPlan => {
    // ids that do not follow the order of the plan, and dependencies that go back only
    const idOf = (index: number) => ((index * 7) % 11) + 1
    const subtasks = parts.map(({ onTop, eligible }, index) =>
      aSubtask(idOf(index), { ordinal: index + 1, onTop, status: eligible ? "assemble_ready" : "pending" }),
    )
    const dependencies = parts.flatMap(({ needs }, index) =>
      [...new Set(needs)]
        .filter((need) => need < index)
        .map((need) => ({ subtaskId: idOf(index), dependsOnSubtaskId: idOf(need) })),
    )
    return { ...aPlan(subtasks), dependencies }
  })

it("puts subtasks in the order that is defined, and gives a child what it stands on in that order", () => {
  fc.assert(
    fc.property(plans, (plan) => {
      const order = byDefinition(plan)
      expect(inOrder(plan)).toEqual(order)
      for (const subtask of plan.subtasks) {
        const { subtaskId, onTop } = subtask
        const needed = above(plan.dependencies, subtaskId)
        const found = order.filter(
          (other) =>
            isEligible(other) &&
            (needed.has(other.subtaskId) ||
              (onTop && other !== subtask && !above(plan.dependencies, other.subtaskId).has(subtaskId))),
        )
        expect(baseOf(plan, subtask)).toEqual(found.map((each) => each.subtaskId))
      }
    }),
  )
})

it("leaves nobody out of a circle", () => {
  const circle = aPlan([aSubtask(1, { ordinal: 1 }), aSubtask(2, { ordinal: 2 }), aSubtask(3, { ordinal: 3 })])
  const dependencies = [
    { subtaskId: 1, dependsOnSubtaskId: 2 },
    { subtaskId: 2, dependsOnSubtaskId: 1 },
  ]
  expect(inOrder({ ...circle, dependencies }).map(({ subtaskId }) => subtaskId)).toEqual([3, 1, 2])
})
