-- What policies keep from one question to the next: small values, each plugin's by itself.

create table plugin_kv (
  plugin text collate "C" not null,
  key text collate "C" not null check (octet_length(key) between 1 and 256),
  value bytea not null check (octet_length(value) <= 16384),
  updated_at timestamptz(3) not null default now(),
  primary key (plugin, key)
);
