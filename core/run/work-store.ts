/** The table `run_work`: which step of a run is next, and who may do it. No rule is decided here. */
import { Effect } from "effect"
import type { Fragment, SqlShape } from "#core/sql.ts"

/** Notified with the id of a run (or of a parent whose child moved) that somebody should look at. */
export const workChannel = "svc_work"

export type Stage = "prepare" | "turn" | "inspect"

export interface Work {
  readonly stage: Stage
  readonly charter: string | null
  readonly instruction: string | null
  readonly raiRevisions: number
  readonly commitHash: string | null
  readonly waitsFor: ReadonlyArray<string>
  readonly wakes: number
  readonly attempts: number
}

/** Absent means unchanged. */
export type WorkChange = Partial<Pick<Work, "stage" | "instruction" | "raiRevisions" | "commitHash">>

export interface Claimed {
  readonly runId: string
  readonly fence: number
  /** True where the worker before it never gave the run back. */
  readonly takenOver: boolean
}

export const makeWorkStore = (sql: SqlShape) => ({
  /** Makes the run one that workers drive. In the transaction that creates it. */
  open: (runId: string, charter: string | null) => sql`
    insert into run_work (run_id, charter) values (${runId}, ${charter})`,

  /** The same for a retry, where the first try was driven. */
  openLike: (runId: string, source: string) => sql`
    insert into run_work (run_id, charter) select ${runId}::uuid, charter from run_work where run_id = ${source}`,

  find: (runId: string) =>
    Effect.map(
      sql<Work>`
        select stage, charter, instruction, rai_revisions as "raiRevisions", commit_hash as "commitHash",
               waits_for as "waitsFor", wakes, attempts
          from run_work where run_id = ${runId}`,
      (rows) => rows[0],
    ),

  /** A worker looks at the run soon, wherever it is; its parent's driver hears of it as well. An ended one rests for good. */
  wake: (runId: string) => sql`
    with woken as (
      update run_work w
         set due_at = case when r.ended_at is null then now() end, wakes = wakes + 1,
             waits_for = case when r.ended_at is null then w.waits_for else '{}' end
        from runs r where r.run_id = w.run_id and w.run_id = ${runId}
    )
    select pg_notify(${workChannel}, id::text)
      from (select run_id as id from runs where run_id = ${runId}
            union all
            select parent_run_id from runs where run_id = ${runId} and parent_run_id is not null) as told`,

  change: (runId: string, change: WorkChange) => sql`
    update run_work set attempts = 0${assignments(sql, change)} where run_id = ${runId}`,

  /** Runs that are due and nobody's, now this owner's. */
  claim: (owner: string, leaseSeconds: number, limit: number) => sql<Claimed>`
    with due as (
      select w.run_id, r.lease_owner is not null as taken_over
        from run_work w join runs r using (run_id)
       where w.due_at <= now() and r.ended_at is null and (r.lease_until is null or r.lease_until <= now())
       order by w.due_at
       limit ${limit}
         for update skip locked
    ), counted as (
      update run_work w set attempts = attempts + 1 from due where w.run_id = due.run_id
    )
    update runs r
       set lease_owner = ${owner}, lease_until = now() + make_interval(secs => ${leaseSeconds}), fence = fence + 1
      from due where r.run_id = due.run_id
    returning r.run_id as "runId", r.fence, due.taken_over as "takenOver"`,

  /** The runs, of those that this owner holds, that it still holds and that go on. */
  renew: (owner: string, leaseSeconds: number, runIds: ReadonlyArray<string>) =>
    Effect.map(
      sql<{ readonly runId: string }>`
        update runs set lease_until = now() + make_interval(secs => ${leaseSeconds})
         where run_id = any(${runIds}::uuid[]) and lease_owner = ${owner} and ended_at is null
        returning run_id as "runId"`,
      (rows) => rows.map((row) => row.runId),
    ),

  /** Gives the run back. It rests until it is woken, unless that happened since `wakes` was read. */
  rest: (runId: string, fence: number, wakes: number, waitsFor: ReadonlyArray<string>) => sql`
    with mine as (
      update runs set lease_owner = null, lease_until = null where run_id = ${runId} and fence = ${fence}
      returning run_id
    )
    update run_work w
       set due_at = case when w.wakes = ${wakes} then null else w.due_at end, waits_for = ${waitsFor}::text[],
           attempts = 0
      from mine where w.run_id = mine.run_id`,

  /** Gives the run back to whoever takes it, after a pause. An attempt that ends so is not a lost one. */
  release: (runId: string, fence: number, pauseSeconds: number) => sql`
    with mine as (
      update runs set lease_owner = null, lease_until = null where run_id = ${runId} and fence = ${fence}
      returning run_id, ended_at
    )
    update run_work w
       set due_at = case when mine.ended_at is null then now() + make_interval(secs => ${pauseSeconds}) end, attempts = greatest(attempts - 1, 0)
      from mine where w.run_id = mine.run_id`,

  /** Holds the row of an active run that this fence owns, until the transaction ends; false where it is not so. */
  hold: (runId: string, fence: number) =>
    Effect.map(
      sql`select from runs where run_id = ${runId} and fence = ${fence} and ended_at is null for no key update`,
      (rows) => rows.length > 0,
    ),
})

const assignments = (sql: SqlShape, change: WorkChange): Fragment => {
  const parts: Array<Fragment> = []
  if (change.stage !== undefined) parts.push(sql.fragment`stage = ${change.stage}`)
  if (change.instruction !== undefined) parts.push(sql.fragment`instruction = ${change.instruction}`)
  if (change.raiRevisions !== undefined) parts.push(sql.fragment`rai_revisions = ${change.raiRevisions}`)
  if (change.commitHash !== undefined) parts.push(sql.fragment`commit_hash = ${change.commitHash}`)
  return parts.reduce((before, part) => sql.fragment`${before}, ${part}`, sql.fragment``)
}
