-- The state of each run: what is asked for, where it stands. What happened is in events.

create table runs (
  run_id uuid primary key,
  -- the first run of a chain of retries
  workflow_run_id uuid not null,
  -- null: the run belongs to its submitter alone, also once its project is deleted
  project_id uuid references projects on delete set null,
  parent_run_id uuid references runs on delete cascade,
  subtask_id integer,
  submitted_by text not null,
  agent_name text,
  task text not null,
  status text not null default 'pending' check (status in (
    'pending', 'in_progress', 'awaiting_review', 'committing', 'merging', 'assemble_ready',
    'completed', 'merged', 'declined', 'failed', 'merge_failed', 'cancelled')),
  model_source text not null,
  model_id text,
  effective_model_provider jsonb,
  workflow_id text,
  workflow_name text,
  workflow_selection_reason text,
  created_at timestamptz(3) not null default now(),
  -- when it was created, until it starts
  started_at timestamptz(3) not null default now(),
  ended_at timestamptz(3),
  archived_at timestamptz(3),
  result text,
  step_count integer not null default 0,
  -- how often a reviewer asked for changes
  revisions integer not null default 0,
  originating_branch text,
  worktree_path text,
  worktree_branch text,
  tree_hash text,
  diff text,
  review_ready_at timestamptz(3),
  reviewed_by text,
  merged_commit_hash text,
  merge_conflicts text[],
  outcome_achieved boolean,
  outcome_reason text,
  sandbox jsonb,
  coordinator_status text,
  coordinator_status_reason text,
  auto_approve_tools boolean not null default false,
  autopilot boolean not null default false,
  retried_from uuid references runs on delete set null,
  retry_depth integer not null default 0,
  -- who acts for the run; fence grows with every change of owner, and a guarded update names it
  lease_owner text,
  lease_until timestamptz(3),
  fence bigint not null default 0,
  check (subtask_id is null or parent_run_id is not null),
  check ((status in ('assemble_ready', 'completed', 'merged', 'declined', 'failed', 'merge_failed', 'cancelled'))
    = (ended_at is not null))
);

create index runs_by_project on runs (project_id, started_at desc, run_id);
create index runs_by_parent on runs (parent_run_id) where parent_run_id is not null;
create index runs_by_submitter on runs (submitted_by) where project_id is null;
create index runs_active on runs (project_id) where ended_at is null;

-- two retries of one run, asked for at once, are one retry
create unique index runs_one_retry on runs (retried_from) where retried_from is not null;
