import type { Answer, Ask } from "./question.ts"

/** Files for which the setting `owners` names who may approve them: {"payments/": ["grace"]}, as JSON. */
type Owners = Readonly<Record<string, ReadonlyArray<string>>>

/** An approval counts from somebody else than whoever started the run, and for owned files from one of their owners. */
export const decide = ({ reviewer, submittedBy, files }: Ask): Answer => {
  if (same(reviewer, submittedBy)) {
    return refuse(`${reviewer} started this run and cannot approve it. Ask somebody else to review it.`)
  }
  const owners: Owners = JSON.parse(config("owners") ?? "{}")
  for (const [folder, names] of Object.entries(owners)) {
    const owned = files.find((file) => file.startsWith(folder))
    if (owned !== undefined && !names.some((name) => same(name, reviewer))) {
      return refuse(`${owned} is approved by its owners: ${names.join(", ")}.`)
    }
  }
  return { decision: "allow" }
}

const refuse = (reason: string): Answer => ({ decision: "refuse", reason })

/** Accounts that differ in case alone are one person's. */
const same = (one: string, other: string): boolean => one.trim().toLowerCase() === other.trim().toLowerCase()
