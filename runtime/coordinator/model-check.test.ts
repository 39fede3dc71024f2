/**
 * Walks at random through everything that can happen to a coordinator run (answers of the world, children that
 * end in every way, people who decide anything at any time, policies that answer nonsense), and looks after every
 * step whether what must always be true is true.
 */

import { Result } from "effect"
import fc from "fast-check"
import { describe, expect, it } from "vitest"
import { decide } from "#core/run/decide.ts"
import { isTerminal } from "#core/run/status.ts"
import type { SteeringAnswer } from "#policies/steering/model.ts"
import { steer as builtIn } from "#policies/steering/steer.ts"
import type { Action } from "#runtime/coordinator/action.ts"
import type { Change } from "#runtime/coordinator/change.ts"
import { steer, steerKinds } from "#runtime/coordinator/command/steer.ts"
import { confirmSpec, rearm, reviewAssembly, reviseSpec } from "#runtime/coordinator/command.ts"
import { eventsOf } from "#runtime/coordinator/events.ts"
import { evolve } from "#runtime/coordinator/evolve.ts"
import { next } from "#runtime/coordinator/next.ts"
import { gated, integrated, merged, received, steered, synthesized } from "#runtime/coordinator/outcome.ts"
import { childEffectsOf, runCommandsOf } from "#runtime/coordinator/run-command.ts"
import {
  type ChildView,
  type CoordinatorState,
  isEligible,
  liveAttempt,
  startModes,
} from "#runtime/coordinator/state.ts"
import { steeringAsk } from "#runtime/coordinator/steering/ask.ts"
import { aState, aSubtask } from "#runtime/coordinator/test/states.ts"
import { waitsOf } from "#runtime/coordinator/waits.ts"

const at = "2026-01-01T00:00:00.000Z"

/** `expect` is too slow for millions of looks. */
const must = (holds: boolean, otherwise: string): undefined => {
  if (!holds) throw new Error(otherwise)
}

/** A walk: the state, the time, and what was seen on the way. */
const walkFrom = (start: CoordinatorState, pick: (choices: number) => number, happened: Set<string>) => {
  const self = {
    state: start,
    now: 0,
    ids: 100,
    pick,
    happened,
    approvedTrees: new Set<string>(),
    planIds: new Set<number>(),
    childIds: new Set<string>(),

    one<A>(...choices: readonly [A, ...A[]]): A {
      return choices[self.pick(choices.length)] ?? choices[0]
    },

    write(changes: ReadonlyArray<Change>): undefined {
      for (const change of changes) {
        const before = self.state
        let run = {
          ...before.run,
          parentRunId: null,
          subtaskId: null,
          treeHash: null,
          worktreeBranch: null,
          stepCount: 0,
          revisions: 0,
          reviewedBy: null,
          endedAt: null,
        }
        for (const command of runCommandsOf(before, change)) {
          const decided = decide(run, command)
          if (Result.isFailure(decided)) throw new Error(`${change._tag}: ${decided.failure.message}`)
          if (decided.success._tag === "Change") run = { ...run, status: decided.success.change.status }
        }
        for (const effect of childEffectsOf(before, change)) {
          const child = before.children[effect.childRunId]
          if (child === undefined) continue
          const cancelled = effect._tag === "Cancel" && !isTerminal(child.status)
          if (cancelled) self.child({ ...child, status: "failed", result: effect.reason, resumable: false })
        }
        self.state = evolve(self.state, change)
        self.happened.add(change._tag)
        if (change._tag !== "Stopped")
          must(self.state.run.status === run.status, `${change._tag}: ${self.state.run.status} is not ${run.status}`)
        eventsOf(before, change, self.state, at)
        if (change._tag === "ReviewApproved") self.approvedTrees.add(before.plan?.assembly.treeHash ?? "")
        if (change._tag === "PlanDrafted") self.planIds.add(change.workPlanId)
      }
      self.check()
    },

    child(view: ChildView): undefined {
      self.state = { ...self.state, children: { ...self.state.children, [view.runId]: view } }
    },

    check(): undefined {
      const { plan, limits, run, directives } = self.state
      must(self.planIds.size <= 1, "a second plan")
      const actions = next(self.state, self.now)
      if (isTerminal(run.status)) return must(actions.length === 0, "it goes on after its end")
      const waits = actions.length > 0 || waitsOf(self.state, self.now).length > 0
      must(waits, `nobody can make it go on: ${plan?.status}`)
      if (plan === null) return
      must(plan.steeringIterations <= limits.steeringIterations, "the plan's budget is exceeded")
      const live = plan.subtasks.filter((subtask) => liveAttempt(subtask) !== undefined)
      const reopened = directives.reduce((sum, { revised }) => sum + revised.length, 0)
      must(live.length <= limits.width + reopened, "too many children at once")
      must(plan.status !== "in_review" || run.status === "awaiting_review", "the review is not shown as one")
      for (const subtask of plan.subtasks) {
        const { attempts, status, lockedOutAgents, assignedAgent, recoveryAttempts } = subtask
        must(recoveryAttempts <= limits.recoveryAttempts, "a subtask's budget is exceeded")
        must(attempts.filter(({ end }) => end === null).length <= 1, "two live attempts")
        must(
          attempts.every(({ attempt }, index) => attempt === index + 1),
          "attempts are not in order",
        )
        must(!lockedOutAgents.includes(assignedAgent), "a locked-out agent works")
        const works = status === "dispatched" || status === "running"
        must((liveAttempt(subtask) !== undefined) === works, `a child works, and its subtask is ${status}`)
      }
    },

    act(action: Action, kind: boolean): undefined {
      const { state } = this
      const { plan } = state
      if (!kind && action._tag !== "Write" && self.pick(400) === 0) {
        return self.write([{ _tag: "Failed", reason: "assembly_error", message: "it broke", retryable: false }])
      }
      const stamp = { id: ++self.ids, at }
      switch (action._tag) {
        case "Write":
          return self.write(action.changes)
        case "SynthesizeSpec":
          return self.write(synthesized(state, stamp.id))
        case "DraftSpec":
          return self.write([
            {
              _tag: "SpecDrafted",
              specId: state.spec?.specId ?? stamp.id,
              draft: { desiredOutcome: "x", scope: "", assumptions: "", clarifyingQuestions: self.one(null, "?") },
            },
          ])
        case "Decompose": {
          const size = 1 + self.pick(5)
          const subtasks = Array.from({ length: size }, (_, index) =>
            aSubtask(index + 1, { role: self.one("writer", "tester"), assignedAgent: "Vera" }),
          ).map((each) => (each.role === "tester" ? { ...each, assignedAgent: "Ines" } : each))
          const dependencies = subtasks.flatMap(({ subtaskId }) =>
            subtaskId > 1 && self.pick(2) === 1
              ? [{ subtaskId, dependsOnSubtaskId: 1 + self.pick(subtaskId - 1) }]
              : [],
          )
          const drafted = { workPlanId: stamp.id, workflowId: null, adjustments: [], subtasks, dependencies }
          return self.write([
            {
              _tag: "PlanDrafted",
              ...drafted,
              gates: self.one(["rai", "build-test"], ["rai", "build-test", "rubberduck"]),
            },
          ])
        }
        case "Dispatch": {
          const done = new Set(plan?.subtasks.filter(isEligible).map((each) => each.subtaskId))
          for (const edge of plan?.dependencies ?? []) {
            must(edge.subtaskId !== action.subtaskId || done.has(edge.dependsOnSubtaskId), "begun too early")
          }
          const childRunId = `child-${action.subtaskId}-${action.attempt}`
          must(!self.childIds.has(childRunId), "one attempt, two children")
          self.childIds.add(childRunId)
          return self.write([{ ...action, _tag: "Dispatched", childRunId }])
        }
        case "Signal":
          return self.write([received(action.signal, stamp)])
        case "Decide": {
          const directive = state.directives.find(({ directiveId }) => directiveId === action.directiveId)
          if (directive === undefined) throw new Error("there is no such directive")
          const answer = kind || self.pick(3) > 0 ? builtIn(steeringAsk(state, directive)) : self.nonsense()
          return self.write(steered(state, action.directiveId, answer, at))
        }
        case "AnswerQuestion": {
          must(state.run.autopilot, "a person is to be asked")
          return self.write([{ ...action, _tag: "QuestionAnswered", answer: "yes" }])
        }
        case "SteerChild":
          return self.write([{ ...action, _tag: "ChildSteered", at }])
        case "Integrate": {
          const conflict = !kind && self.pick(4) === 0
          const subtaskId = action.order[self.pick(action.order.length)] ?? 0
          const tree = `tree-${++self.ids}`
          return self.write(
            integrated(
              state,
              conflict
                ? { _tag: "Conflict", subtaskId, files: ["a.ts"] }
                : {
                    _tag: "Integrated",
                    commit: `c-${tree}`,
                    treeHash: tree,
                    hasChanges: self.pick(8) > 0,
                    settled: self.one([], [{ subtaskId, files: ["a.ts"] }]),
                  },
              stamp,
            ),
          )
        }
        case "RunGate": {
          const way = kind ? 0 : self.pick(5)
          const said = { verdict: "x", summary: "because" }
          const targetFiles = self.one(null, ["src/child-1-1.ts"], ["nobody.ts"])
          const rejected = { _tag: "Rejected", ...said, severity: "request-changes", targetFiles } as const
          if (way <= 1) return self.write(gated(state, action.gate, { _tag: "Passed", ...said }, stamp))
          if (way === 2 && action.gate === "rai") {
            return self.write(gated(state, action.gate, { _tag: "Blocked", reason: "red" }, stamp))
          }
          if (way === 3) {
            const infrastructure = { reason: "build_test_infra_x", message: "away" }
            return self.write(gated(state, action.gate, { _tag: "Unavailable", infrastructure }, stamp))
          }
          return self.write(gated(state, action.gate, rejected, stamp))
        }
        case "RequestReview":
          if (!kind && self.pick(6) === 0) {
            const infrastructure = { reason: "refused_by_policy", message: "too large" }
            return self.write([{ _tag: "AssemblyBlocked", reason: "refused_by_policy", infrastructure }])
          }
          return self.write([{ _tag: "ReviewRequested", diff: "", gateId: action.gateId }])
        case "Merge": {
          must(self.approvedTrees.has(action.treeHash), "merged without an approval of this tree")
          must(action.treeHash === plan?.assembly.treeHash, "merged another tree")
          const way = kind ? 0 : self.pick(3)
          if (way === 0) return self.write(merged({ _tag: "Merged", commit: action.commit }))
          return self.write(
            merged(
              way === 1
                ? { _tag: "Blocked", reason: "dirty tree" }
                : { _tag: "Conflict", reason: "overlap", files: ["a.ts"] },
            ),
          )
        }
        case "Scribe":
          return self.write([{ _tag: "Scribed", failure: kind ? null : self.one(null, "no ink") }])
      }
    },

    /** What no policy should answer. */
    nonsense(): SteeringAnswer {
      const some = () => [self.one(1, 2, 9), self.one(1, 3)]
      return {
        decision: self.one("in_place_steer", "dispatch_fresh", "proceed", "advisory"),
        rationale: "nonsense",
        subtaskIds: some(),
        attempt: self.pick(100),
        implicatedSubtaskIds: some(),
        dependentSubtaskIds: some(),
        assignments: [
          { subtaskId: 1, assignedAgent: self.one("Vera", "Otto", "Nobody"), lockedOutAgents: self.one([], ["Vera"]) },
        ],
        resetBudgets: self.pick(2) === 0,
        scopeFallback: null,
      }
    },

    /** A child moves on, or everything stands still for a while. */
    moveChild(kind: boolean): undefined {
      const live = (self.state.plan?.subtasks ?? []).flatMap((subtask) => liveAttempt(subtask) ?? [])
      const chosen = live[self.pick(Math.max(live.length, 1))]
      const child = chosen === undefined ? undefined : self.state.children[chosen.childRunId]
      if (child === undefined) return
      if (!kind && self.pick(9) === 0) {
        const question = { requestId: `q-${++self.ids}`, question: "why?" }
        return self.child({ ...child, status: "in_progress", waiting: true, questions: [...child.questions, question] })
      }
      const seen = {
        ...child,
        waiting: false,
        questions: [],
        lastEventAt: self.now,
        lastSequence: child.lastSequence + 1,
      }
      const work = { commit: `c-${child.runId}`, touchedFiles: [`src/${child.runId}.ts`] }
      const way = kind ? 0 : self.pick(8)
      if (way <= 2) return self.child({ ...seen, ...work, status: "assemble_ready" })
      if (way === 3) return self.child({ ...seen, status: "completed", touchedFiles: [] })
      if (way === 4) return self.child({ ...seen, status: "failed", result: "boom", retryable: self.pick(2) === 0 })
      if (way === 5) return self.child({ ...seen, status: "failed", result: "content_safety", resumable: false })
      if (way === 6) {
        self.now += 6 * 60_000
        return self.child({ ...child, status: "in_progress", waiting: false })
      }
      return self.child({ ...seen, status: "in_progress", resumable: self.pick(3) > 0 })
    },

    person(kind: boolean): undefined {
      const { state } = this
      const stamp = { id: ++self.ids, at }
      const by = "ada"
      const files = kind ? null : self.one(null, ["src/child-1-1.ts"])
      const review = (approved: boolean, requestChanges: boolean) =>
        reviewAssembly(state, { approved, requestChanges, feedback: "more", targetFiles: files, by }, stamp)
      const children = Object.keys(state.children)
      const target = children[self.pick(Math.max(children.length, 1))] ?? null
      const steers = () =>
        steer(
          state,
          { kind: self.one(...steerKinds), targetChildRunId: self.one(null, target), instruction: "do", by },
          stamp,
        )
      const asked = kind
        ? [confirmSpec(state, { by, allowTaskPromotion: false }), review(true, false), rearm(state, by)]
        : [
            self.pick(9) === 0 ? review(false, false) : review(self.pick(2) === 0, true),
            self.pick(12) === 0 ? steers() : rearm(state, by),
            confirmSpec(state, { by, allowTaskPromotion: true }),
            reviseSpec(state, { by, feedback: "else" }),
            review(true, false),
            steers(),
          ]
      const answers = kind ? asked : [asked[self.pick(asked.length)]]
      for (const answer of answers) {
        if (answer !== undefined && Result.isSuccess(answer) && answer.success.length > 0)
          return self.write(answer.success)
      }
    },
  }
  return self
}

const pickFrom = (choices: ReadonlyArray<number>) => {
  let used = 0
  return (count: number) => (choices[used++ % Math.max(choices.length, 1)] ?? 0) % count
}

describe("a coordinator run", () => {
  it("keeps what must be true on every way, and comes to an end as soon as everybody means well", () => {
    const ends = new Map<string, number>()
    const happened = new Set<string>()
    fc.assert(
      fc.property(
        fc.array(fc.nat({ max: 9_999 }), { minLength: 40, maxLength: 400 }),
        fc.constantFrom(...startModes),
        fc.boolean(),
        (choices, startMode, autopilot) => {
          const start = aState({ startMode })
          const walk = walkFrom(
            { ...start, run: { ...start.run, status: "pending", autopilot } },
            pickFrom(choices),
            happened,
          )
          for (let step = 0; step < choices.length; step++) {
            const action = next(walk.state, walk.now)[0]
            const move = walk.pick(6)
            if (move <= 2 && action !== undefined) walk.act(action, false)
            else if (move <= 4) walk.moveChild(false)
            else walk.person(false)
          }
          for (let step = 0; step < 600 && !isTerminal(walk.state.run.status); step++) {
            const action = next(walk.state, walk.now)[0]
            if (action !== undefined) walk.act(action, true)
            else if (waitsOf(walk.state, walk.now).some(({ _tag }) => _tag === "Child")) walk.moveChild(true)
            else walk.person(true)
          }
          const { status } = walk.state.run
          must(isTerminal(status), `it does not end: ${walk.state.plan?.status} ${walk.state.plan?.assembly.stage}`)
          ends.set(status, (ends.get(status) ?? 0) + 1)
        },
      ),
      // always the same walks: what they come to is asserted
      { numRuns: 1_000, seed: 20_260_101 },
    )
    // the walks are worth something: they come to every end
    expect([...ends.keys()].sort()).toEqual(["completed", "declined", "failed", "merged"])
    expect(happened.size).toBe(37)
  })
})
