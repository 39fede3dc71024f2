-- Runs whose agents were given text that nobody vouches for, in ways that their logs do not show.

create table memory_foreign_reads (
  run_id uuid primary key references runs on delete cascade
);
