-- A run that has ended has no plan that goes on, whoever ended it and however: what its driver has not written
-- itself is settled here, in the same commit.

alter table work_plans drop constraint work_plans_status_check;
alter table work_plans add constraint work_plans_status_check check (status in (
  'planned', 'dispatching', 'awaiting_assembly', 'assembling', 'assembly_steering', 'in_review', 'complete',
  'assembly_blocked', 'rai_blocked', 'needs_resolution', 'assembly_failed', 'assembly_declined', 'cancelled'));

create function settle_plan() returns trigger language plpgsql as $$
declare
  settled text;
begin
  update outcome_specs set status = 'declined'
   where coordinator_run_id = new.run_id and status = 'awaiting_confirmation';
  -- what is merged stays so, whatever becomes of the rest
  update work_plans
     set status = case when merged_commit is null then 'cancelled' else 'complete' end, status_reason = new.result
   where coordinator_run_id = new.run_id
     and status not in ('complete', 'assembly_failed', 'assembly_declined', 'cancelled')
  returning status into settled;
  if found then
    new.coordinator_status := settled;
    new.coordinator_status_reason := new.result;
  end if;
  -- the children are cancelled with their parent; what has not begun stays as it was planned
  with stopped as (
    update subtask_attempts set outcome = 'stopped'
     where coordinator_run_id = new.run_id and outcome is null
    returning subtask_id
  )
  update subtasks s set status = 'failed' from stopped where s.subtask_id = stopped.subtask_id;
  return new;
end $$;

create trigger runs_settle_plan before update on runs
  for each row when (old.ended_at is null and new.ended_at is not null and new.parent_run_id is null)
  execute function settle_plan();
