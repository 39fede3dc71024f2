-- What a project's agents and people decided and learned, where each piece comes from, and who vouched for it.

create table memory_decisions (
  decision_id integer generated always as identity primary key,
  project_id uuid not null references projects on delete cascade,
  agent_name text not null check (length(agent_name) between 1 and 100),
  type text not null check (type in ('learning', 'pattern', 'update', 'architectural', 'scope', 'process', 'technical')),
  status text not null default 'active' check (status in ('active', 'superseded', 'archived')),
  title text not null,
  content text not null,
  rationale text,
  tags text[] not null default '{}',
  superseded_by_id integer references memory_decisions on delete set null,
  source_kind text not null check (source_kind in ('user', 'agent', 'external_tool', 'import', 'legacy')),
  source_identity text not null,
  -- no reference: where a decision came from is kept when the run is gone
  source_run_id uuid,
  trust_state text not null check (trust_state in ('pending', 'approved', 'legacy')),
  approved_by text,
  approved_at timestamptz(3),
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now(),
  check ((trust_state = 'approved') = (approved_by is not null)),
  check ((approved_by is null) = (approved_at is null)),
  check (superseded_by_id is null or status = 'superseded')
);

create index memory_decisions_by_project on memory_decisions (project_id, decision_id desc);
create index memory_decisions_mandatory on memory_decisions (project_id, decision_id)
  where status = 'active' and trust_state = 'approved' and type in ('architectural', 'scope');

create table memory_inbox (
  entry_id integer generated always as identity primary key,
  project_id uuid not null references projects on delete cascade,
  agent_name text not null check (length(agent_name) between 1 and 100),
  -- the name of its file: no two of a project may meet, also where a disk does not tell cases apart
  slug text not null,
  -- as the agent sent it: with the agent's name, the key of a repeated submission
  requested_slug text not null,
  type text not null check (type in ('learning', 'pattern', 'update', 'architectural', 'scope', 'process', 'technical')),
  title text not null,
  content text not null,
  rationale text,
  status text not null default 'pending' check (status in ('pending', 'merged', 'rejected')),
  decision_id integer references memory_decisions on delete set null,
  merged_at timestamptz(3),
  source_kind text not null check (source_kind in ('user', 'agent', 'external_tool', 'import', 'legacy')),
  source_identity text not null,
  source_run_id uuid,
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now(),
  check ((status = 'merged') = (merged_at is not null))
);

create unique index memory_inbox_slug on memory_inbox (project_id, lower(slug));
create unique index memory_inbox_request on memory_inbox (project_id, agent_name, requested_slug);
create index memory_inbox_by_status on memory_inbox (project_id, status, entry_id desc);

create table memory_entries (
  entry_id integer generated always as identity primary key,
  project_id uuid not null references projects on delete cascade,
  agent_name text not null check (length(agent_name) between 1 and 100),
  session_id text,
  type text not null check (type in ('learning', 'pattern', 'core_context', 'update')),
  -- 1 low, 2 medium, 3 high
  importance smallint not null check (importance between 1 and 3),
  content text not null,
  tags text[] not null default '{}',
  source_kind text not null check (source_kind in ('user', 'agent', 'external_tool', 'import', 'legacy')),
  source_identity text not null,
  source_run_id uuid,
  trust_state text not null check (trust_state in ('pending', 'approved', 'legacy')),
  approved_by text,
  approved_at timestamptz(3),
  -- 0: nobody's word; 1: good for the agent that wrote it; 2: a person or a coordinator vouched for it
  own_trust smallint not null generated always as (
    case when trust_state = 'approved' then 2 when source_kind in ('user', 'agent') and trust_state = 'pending' then 1 else 0 end
  ) stored,
  -- the least of its own and of all that it was derived from
  trust smallint not null default 0 check (trust between 0 and 2),
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now(),
  check ((trust_state = 'approved') = (approved_by is not null)),
  check ((approved_by is null) = (approved_at is null))
);

create index memory_entries_by_project on memory_entries (project_id, created_at desc, entry_id desc);
create index memory_entries_by_agent on memory_entries (project_id, agent_name, created_at desc, entry_id desc);
create index memory_entries_by_tag on memory_entries using gin (tags) with (fastupdate = off);
-- what may go into the context of its own agent, best first
create index memory_entries_own on memory_entries (project_id, agent_name, importance desc, created_at desc, entry_id desc)
  where trust > 0 and (type = 'core_context' or (importance = 3 and type in ('learning', 'pattern')));
-- what may go into the context of every agent
create index memory_entries_shared on memory_entries (project_id, created_at desc, entry_id desc)
  where trust = 2 and importance = 3 and type in ('learning', 'pattern') and tags @> '{cross-team}';

-- what an entry was derived from; entries that are there already, so that there are no circles
create table memory_sources (
  entry_id integer not null references memory_entries on delete cascade,
  source_id integer not null references memory_entries on delete cascade,
  primary key (entry_id, source_id),
  check (source_id < entry_id)
);

create index memory_sources_by_source on memory_sources (source_id);

-- entries that the agent of a run was given when it asked: what it writes later may come from them
create table memory_reads (
  run_id uuid not null references runs on delete cascade,
  entry_id integer not null references memory_entries on delete cascade,
  primary key (run_id, entry_id)
);

create table memory_sessions (
  id integer generated always as identity primary key,
  project_id uuid not null references projects on delete cascade,
  session_id text not null check (length(session_id) between 1 and 200),
  focus_area text not null,
  active_issues text,
  summary text,
  serialized_state text,
  -- false: what an agent wrote last that had read foreign text, or what came from files
  trusted boolean not null default true,
  started_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now(),
  ended_at timestamptz(3),
  unique (project_id, session_id)
);

create unique index memory_sessions_one_open on memory_sessions (project_id) where ended_at is null;
create index memory_sessions_by_project on memory_sessions (project_id, id desc);
