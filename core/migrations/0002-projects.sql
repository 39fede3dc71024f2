-- Projects, and who may do what in them.

create table projects (
  project_id uuid primary key,
  name text not null check (length(name) between 1 and 200),
  origin text not null check (origin in ('blank', 'remote')),
  source_repository text,
  working_directory text not null,
  default_branch text not null,
  -- who created it; what people may do is in project_roles
  owner text not null,
  default_provider text not null check (default_provider in ('hosted', 'byok')),
  default_model_hosted text,
  default_model_byok text,
  blueprint_generation_model text,
  workflow_generation_model text,
  outcome_spec_generation_model text,
  preview_approval_timeout_minutes integer not null default 1440
    check (preview_approval_timeout_minutes between 1 and 1440),
  preview_lifetime_minutes integer not null default 1440
    check (preview_lifetime_minutes between 1 and 1440),
  preview_dns_convergence_timeout_seconds integer not null default 600
    check (preview_dns_convergence_timeout_seconds between 60 and 3600),
  source_blueprint_id text,
  source_blueprint_type text check (source_blueprint_type in ('predefined', 'inline', 'custom')),
  blueprint jsonb,
  generated_workflow_yaml text,
  allowed_workflow_ids text[],
  -- a project that is being deleted stays until its last active run is cancelled
  state text not null default 'active' check (state in ('active', 'deleting')),
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now()
);

create index projects_deleting on projects (project_id) where state = 'deleting';

create table project_roles (
  assignment_id uuid primary key,
  project_id uuid not null references projects on delete cascade,
  principal_id text not null check (length(principal_id) between 1 and 256),
  role text not null check (role in ('viewer', 'contributor', 'owner')),
  display_name text,
  email text,
  created_at timestamptz(3) not null default now(),
  unique (project_id, principal_id)
);

create index project_roles_by_principal on project_roles (principal_id);
