/** What is to be done next on a run, from its row alone: the whole path of a run on one page. */
import type { RunStatus } from "#core/run/status.ts"
import type { Stage } from "#core/run/work-store.ts"

/**
 * `prepare` makes the checkout; `turn` lets the agent work; `inspect` commits and has the responsible-AI pass look;
 * `commit` and `merge` bring it into the branch; `rest`: it ended, or a person has to do something.
 */
export type Step = "prepare" | "turn" | "inspect" | "commit" | "merge" | "rest"

export const nextStep = (status: RunStatus, stage: Stage): Step => {
  switch (status) {
    case "pending":
      return "prepare"
    case "in_progress":
      return stage
    case "committing":
      return "commit"
    case "merging":
      return "merge"
    default:
      return "rest"
  }
}
