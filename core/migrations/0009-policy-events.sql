-- What policies decided, the latest first, over all runs: for receipts of one policy.

create index events_of_policies on events (created_at desc)
  where type in ('policy.decision', 'policy.shadow');
