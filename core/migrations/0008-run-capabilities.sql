-- What the agents of a run show when they call back over HTTP. The token itself is never stored.

create table run_capabilities (
  digest bytea primary key check (octet_length(digest) = 32),
  run_id uuid not null references runs on delete cascade,
  expires_at timestamptz(3) not null
);

create index run_capabilities_by_run on run_capabilities (run_id);
create index run_capabilities_by_expiry on run_capabilities (expires_at);
