-- Requests that may be sent again: what the first one with a key came to.

create table idempotency_keys (
  -- who sent it, and where: a key of one user means nothing to another
  scope text not null,
  key text not null,
  fingerprint text not null,
  result text not null,
  created_at timestamptz(3) not null default now(),
  primary key (scope, key)
);
