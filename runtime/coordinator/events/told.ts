/** What those who tell of a change are given. */
import type { Change, ChangeOf } from "#runtime/coordinator/change.ts"
import type { CoordinatorState } from "#runtime/coordinator/state.ts"

export interface Told<Tag extends Change["_tag"]> {
  readonly before: CoordinatorState
  readonly change: ChangeOf<Tag>
  readonly after: CoordinatorState
  readonly at: string
}
