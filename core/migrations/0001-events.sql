-- The one ordered log per run. Rows are only ever inserted, and removed together with their run.

create table events (
  -- the run's id, or that of a sub-stream: {runId}-rai
  run_id text collate "C" not null,
  sequence bigint not null check (sequence >= 1),
  type text collate "C" not null,
  -- JSON text as it was encoded at the append: read back byte for byte, never parsed on the way out
  payload json not null,
  created_at timestamptz(3) not null,
  -- only for appends that may be repeated
  replay_key text collate "C",
  primary key (run_id, sequence)
);

create unique index events_replay_key on events (run_id, replay_key) where replay_key is not null;

-- deltas and tool output are most of the rows, and nobody asks for them by type
create index events_by_type on events (run_id, type, sequence)
  where type <> 'agent.message.delta' and type <> 'tool.output';

-- Serialises the appenders of each run until their commit. Locks are taken in the order of the run ids,
-- everywhere: whoever appends to several runs in one transaction does so in that order too, and so
-- waits for another and never for ever. A transaction that keeps a run's lock too long (its process is
-- stopped, say) fails the appends to that run, and not those of a whole batch for the time of a statement.
create function lock_runs(run_ids text[]) returns void language plpgsql volatile set lock_timeout = '1500ms' as $$
begin
  perform pg_advisory_xact_lock(hashtextextended(k.run_id, 7215))
    from (select distinct r collate "C" as run_id from unnest(run_ids) r order by 1) k;
end $$;

-- The last sequence of each run, in the order of the argument: 0 for a log that may be opened now,
-- -1 for a run that is not known. Must be a statement after the lock: its snapshot is then newer.
create function run_heads(run_ids text[], opening boolean) returns bigint[] language sql volatile as $$
  select array_agg(coalesce(
    (select e.sequence from events e where e.run_id = u.run_id order by e.sequence desc limit 1),
    case when opening then 0
         when length(u.run_id) > 36
          and exists (select from events p where p.run_id = left(u.run_id, 36)) then 0 else -1 end
  ) order by u.ord)
  from unnest(run_ids) with ordinality as u(run_id, ord)
$$;

-- Appends a batch in one commit. Per run, distinct and in their order: run_ids. Per event: the position of its run in
-- run_ids, its place among the run's events of this batch (1, 2, …), its run, type and payload.
-- Events of unknown runs are left out. Answers the head of each run before the batch: the sequence of
-- an event is the head of its run plus its place.
create function append_events(
  run_ids text[],
  event_run integer[], event_place integer[], event_run_id text[], event_type text[], event_payload text[],
  out heads bigint[], out appended_at timestamptz
) language plpgsql volatile set lock_timeout = '1500ms' as $$
begin
  -- lock_runs and run_heads written out: the calls were a tenth of the time of a batch
  perform pg_advisory_xact_lock(hashtextextended(r, 7215)) from unnest(run_ids) r;
  heads := array(
    select coalesce(
        (select e.sequence from events e where e.run_id = u.run_id order by e.sequence desc limit 1),
        case when length(u.run_id) > 36
              and exists (select from events p where p.run_id = left(u.run_id, 36)) then 0 else -1 end)
      from unnest(run_ids) with ordinality as u(run_id, ord) order by u.ord);
  appended_at := date_trunc('milliseconds', clock_timestamp());
  insert into events (run_id, sequence, type, payload, created_at)
    select b.run_id, heads[b.run] + b.place, b.type, b.payload::json, appended_at
      from unnest(event_run, event_place, event_run_id, event_type, event_payload)
        as b(run, place, run_id, type, payload)
     where heads[b.run] >= 0;
end $$;

-- Appends events that may be repeated, to one run. An event whose replay key was used before is not
-- written again: its first sequence is answered, with fresh = false. Where any key was used with
-- another type or payload nothing is written and conflict is true.
create function append_replayable(
  run text, opening boolean, types text[], payloads text[], keys text[],
  out head bigint, out conflict boolean, out sequences bigint[], out fresh boolean[], out appended_at timestamptz
) language plpgsql volatile as $$
declare
  known events%rowtype;
  next bigint;
begin
  perform lock_runs(array[run]);
  head := (run_heads(array[run], opening))[1];
  appended_at := date_trunc('milliseconds', clock_timestamp());
  conflict := exists (
    select from unnest(types, payloads, keys) as k(type, payload, key)
      join events e on e.run_id = run and e.replay_key = k.key
     where e.type <> k.type or e.payload::text <> k.payload);
  if head < 0 or conflict then return; end if;
  next := head;
  for i in 1 .. cardinality(types) loop
    known := null;
    if keys[i] is not null then
      select * into known from events e where e.run_id = run and e.replay_key = keys[i];
    end if;
    fresh[i] := known.sequence is null;
    if fresh[i] then
      next := next + 1;
      insert into events (run_id, sequence, type, payload, created_at, replay_key)
        values (run, next, types[i], payloads[i]::json, appended_at, keys[i]);
      sequences[i] := next;
    else
      sequences[i] := known.sequence;
    end if;
  end loop;
end $$;
