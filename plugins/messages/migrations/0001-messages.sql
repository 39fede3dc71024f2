-- Messages from the agent of one run to the agent of another, kept until they are received and acknowledged.

create table messages_sent (
  message_id uuid primary key,
  position bigint not null generated always as identity,
  project_id uuid not null references projects on delete cascade,
  sender text not null,
  sender_identity text not null,
  recipient text not null,
  source_run_id uuid not null,
  target_run_id uuid not null,
  thread_id uuid not null,
  reply_to_id uuid references messages_sent on delete set null,
  reference_kind text check (reference_kind in ('backlog_task', 'work_plan', 'finding')),
  reference_id text,
  idempotency_key text not null check (length(idempotency_key) between 1 and 128),
  content text not null,
  -- as it was asked for; a repeated send is compared with it
  asked_expiry timestamptz(3),
  created_at timestamptz(3) not null,
  expires_at timestamptz(3) not null,
  status text not null default 'accepted'
    check (status in ('accepted', 'claimed', 'delivered', 'acknowledged', 'expired', 'undeliverable')),
  claim_owner text,
  claimed_until timestamptz(3),
  -- grows with every claim and never goes back: what an earlier owner still does is refused
  fence bigint not null default 0,
  delivered_at timestamptz(3),
  acknowledged_at timestamptz(3),
  failure_reason text check (failure_reason in ('ttl_elapsed', 'recipient_retired', 'target_completed', 'target_cancelled')),
  unique (source_run_id, idempotency_key),
  check ((reference_kind is null) = (reference_id is null)),
  check ((status in ('expired', 'undeliverable')) = (failure_reason is not null)),
  check (status <> 'claimed' or (claim_owner is not null and claimed_until is not null)),
  check ((status = 'acknowledged') = (acknowledged_at is not null))
);

create index messages_sent_by_project on messages_sent (project_id, position desc);
create index messages_sent_open on messages_sent (target_run_id, position) where status in ('accepted', 'claimed');
create index messages_sent_unsettled on messages_sent (project_id) where status in ('accepted', 'claimed', 'delivered');
create index messages_sent_by_source on messages_sent (source_run_id, position desc);
create index messages_sent_by_target on messages_sent (target_run_id, position desc);
