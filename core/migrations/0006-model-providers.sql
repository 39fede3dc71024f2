-- Providers of models that administrators add while the service runs.

create table model_providers (
  provider_id uuid primary key,
  name text not null unique check (length(name) between 1 and 200),
  type text not null check (type in ('openai', 'azure', 'anthropic')),
  base_url text,
  model text,
  wire_api text not null default 'completions' check (wire_api in ('completions', 'responses')),
  azure_api_version text,
  -- the key and the values of the headers, sealed by a key that is not in this database
  sealed text not null,
  has_api_key boolean not null,
  header_names text[] not null default '{}',
  is_active boolean not null default false,
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now()
);

create unique index model_providers_one_active on model_providers (is_active) where is_active;
