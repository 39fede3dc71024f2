-- At most one freeze at a time, set by an administrator.
create table change_freeze_current (
  only_one boolean primary key default true check (only_one),
  reason text not null,
  set_by text not null,
  until timestamptz,
  set_at timestamptz not null default now()
);
