-- The work on runs: which step is next, who waits, what the agent and the model said to each other.

-- the working directory that the run belongs to; null for a run of an older version
alter table runs add column repository text;

create table run_work (
  run_id uuid primary key references runs on delete cascade,
  stage text not null default 'prepare' check (stage in ('prepare', 'turn', 'inspect')),
  -- who the agent is and how it works; null: as every agent
  charter text,
  -- what the agent is told next; null: the run's task
  instruction text,
  -- how often the responsible-AI pass sent the agent back since a person last looked
  rai_revisions integer not null default 0,
  -- what is reviewed and would be merged
  commit_hash text,
  -- the requests of people's decisions that the turn waits for
  waits_for text[] not null default '{}',
  -- when a worker should look at the run, not rounded: it is due at once; null: not before it is woken
  due_at timestamptz default now(),
  -- grows with every wake, so that one that comes while a worker goes to rest is not lost
  wakes bigint not null default 0,
  -- workers that took the run since it last got further
  attempts integer not null default 0
);

create index run_work_due on run_work (due_at) where due_at is not null;
create index run_work_waiting on run_work (run_id) where cardinality(waits_for) > 0;

create table run_session (
  run_id uuid not null references runs on delete cascade,
  position integer not null,
  entry json not null,
  primary key (run_id, position)
);

-- what people and the coordinator tell a running agent; read between two exchanges with the model
create table run_instructions (
  run_id uuid not null references runs on delete cascade,
  instruction_id bigint generated always as identity,
  -- of two with one key, the second is the first
  key text not null,
  text text not null,
  delivered_at timestamptz(3),
  primary key (run_id, instruction_id),
  unique (run_id, key)
);
