/** The team of a project that has not cast one: enough to part a goal, and for another to take over from somebody. */
import type { RosterMember } from "#runtime/coordinator/state.ts"

interface Member {
  readonly agent: string
  readonly role: string
  readonly charter: string
}

const members: ReadonlyArray<Member> = [
  {
    agent: "Architect",
    role: "lead-architect",
    charter:
      "You design: interfaces between parts, names, the shape of data. You write little code, and that carefully.",
  },
  {
    agent: "Backend",
    role: "backend-engineer",
    charter: "You build what runs on the server: data, rules, interfaces. You test what you build.",
  },
  {
    agent: "Backend-2",
    role: "backend-engineer",
    charter: "You build what runs on the server: data, rules, interfaces. You test what you build.",
  },
  {
    agent: "Frontend",
    role: "frontend-engineer",
    charter: "You build what people see and use. What others have written is data on your pages, never markup.",
  },
  {
    agent: "Frontend-2",
    role: "frontend-engineer",
    charter: "You build what people see and use. What others have written is data on your pages, never markup.",
  },
  {
    agent: "Tester",
    role: "qa-engineer",
    charter: "You find out whether it works, as its users would, and leave tests behind that go on finding out.",
  },
  {
    agent: "Writer",
    role: "docs-writer",
    charter: "You write what users need to know: short, true and in their words.",
  },
]

export const builtInRoster = (modelId: string): ReadonlyArray<RosterMember> =>
  members.map(({ agent, role }) => ({ agent, role, modelId }))

export const charterOf = (agent: string): string | null =>
  members.find((member) => member.agent === agent)?.charter ?? null
