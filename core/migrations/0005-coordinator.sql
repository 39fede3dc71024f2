-- Plans: what a coordinator run is to bring about, how it is parted, who works on which part, and what was steered.
-- The rows of one coordinator run change together: whoever changes them has raised coordinators.version in the same
-- transaction, from the version that the change was decided on. Who drives a plan is in runs: lease_owner, fence.

-- the integer ids of the interface: specs, plans, subtasks, directives
create sequence coordination_ids as integer;

create table coordinators (
  run_id uuid primary key references runs on delete cascade,
  version bigint not null default 1,
  start_mode text not null check (start_mode in ('direct', 'defineOutcome')),
  -- the team as it was at the start: [{ agent, role, modelId }], in order of preference
  roster jsonb not null,
  -- when a driver should look again; null: not before somebody changes something. Not rounded: rounded up, it would
  -- be in the future for whoever is told at once
  due_at timestamptz default now(),
  -- drivers that took the run since it last got further
  takes integer not null default 0
);

create index coordinators_due on coordinators (due_at) where due_at is not null;

create table outcome_specs (
  spec_id integer primary key,
  coordinator_run_id uuid not null unique references coordinators on delete cascade,
  status text not null check (status in ('drafting', 'awaiting_confirmation', 'confirmed', 'declined')),
  desired_outcome text not null,
  scope text not null,
  assumptions text not null,
  clarifying_questions text,
  confirmed_by text,
  allow_task_promotion boolean not null,
  feedback text[] not null,
  check ((status = 'confirmed') = (confirmed_by is not null))
);

create table work_plans (
  work_plan_id integer primary key,
  -- one plan for one run, whatever happens
  coordinator_run_id uuid not null unique references coordinators on delete cascade,
  outcome_spec_id integer not null references outcome_specs on delete cascade,
  status text not null check (status in (
    'planned', 'dispatching', 'awaiting_assembly', 'assembling', 'assembly_steering', 'in_review', 'complete',
    'assembly_blocked', 'rai_blocked', 'needs_resolution', 'assembly_failed', 'assembly_declined')),
  status_reason text,
  workflow_id text,
  gates text[] not null,
  -- decisions without a person in between
  steering_iterations integer not null check (steering_iterations >= 0),
  human_review_round_trips integer not null,
  stage text,
  round integer not null,
  gate_id text,
  integration_commit text,
  tree_hash text,
  has_changes boolean not null,
  included_subtask_ids integer[] not null,
  approved_tree_hash text,
  approved_by text,
  merged_commit text,
  assembly_reason text,
  return_to text,
  -- nothing is merged but the tree that a person approved
  check (merged_commit is null or approved_tree_hash = tree_hash)
);

create table subtasks (
  subtask_id integer primary key,
  work_plan_id integer not null references work_plans on delete cascade,
  -- from 1, in the order of the plan
  ordinal integer not null,
  title text not null,
  scope text not null,
  role text not null,
  assigned_agent text not null,
  selected_model_id text not null,
  charter text,
  complexity text not null,
  phase text not null,
  isolation text not null,
  status text not null check (status in (
    'pending', 'dispatched', 'running', 'pending_capacity', 'assemble_ready', 'completed', 'rai_flagged', 'failed',
    'blocked')),
  next_reason text not null,
  recovery_attempts integer not null check (recovery_attempts >= 0),
  locked_out_agents text[] not null,
  feedback text[] not null,
  on_top boolean not null,
  unique (work_plan_id, ordinal)
);

create table subtask_dependencies (
  subtask_id integer not null references subtasks on delete cascade,
  depends_on_subtask_id integer not null references subtasks on delete cascade,
  primary key (subtask_id, depends_on_subtask_id),
  check (subtask_id <> depends_on_subtask_id)
);

-- one child for one try at one subtask
create table subtask_attempts (
  coordinator_run_id uuid not null references coordinators on delete cascade,
  subtask_id integer not null references subtasks on delete cascade,
  attempt integer not null check (attempt >= 1),
  -- kept when the child's run is deleted
  child_run_id uuid not null unique,
  reason text not null,
  -- null while the child works
  outcome text,
  signalled boolean not null,
  primary key (coordinator_run_id, subtask_id, attempt)
);

create unique index subtask_attempts_one_live on subtask_attempts (subtask_id) where outcome is null;

create table steering_directives (
  directive_id integer primary key,
  coordinator_run_id uuid not null references coordinators on delete cascade,
  -- source, severity, verb, scope, feedback, tree hash, files, author: as policies see it
  signal jsonb not null,
  status text not null check (status in ('pending', 'queued', 'relayed', 'applied', 'deferred')),
  decision text,
  rationale text,
  attempt integer not null,
  target_subtask_ids integer[] not null,
  created_at timestamptz(3) not null,
  relayed_at timestamptz(3)
);

create index steering_directives_by_run on steering_directives (coordinator_run_id);

-- the marker that a child was given the correction of a directive, in this attempt at it
create table steering_revisions (
  directive_id integer not null references steering_directives on delete cascade,
  attempt integer not null,
  subtask_id integer not null references subtasks on delete cascade,
  primary key (directive_id, attempt, subtask_id)
);
