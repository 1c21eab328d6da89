/**
 * The first tables.
 *
 * `call.number` is the number inside the call's id, so that a row is appended without a search. `key` is null where the
 * key is the call's own id: the index holds only keys that callers chose. The two indexes are partial so that a plain
 * call touches neither; `call_waiting` is what start-up loads. `event` counts from 0 without gaps.
 */
export const first: string = `
create table meta (name text primary key, value not null) without rowid;
create table call (
  number integer primary key, id text not null, key text, state integer not null, flags integer not null,
  fence text, alive_until, approval text, match text, started_at, ended_at, image text,
  tool text not null, action text not null, definition text not null, arrived_at not null,
  authority text not null, more text, arguments text not null, outcome text
);
create unique index call_by_key on call (key) where key is not null;
create index call_waiting on call (state, alive_until) where alive_until is not null or state in (0, 3, 7);
create table approval (
  number integer primary key, id text not null unique, state text not null, tenant text not null, body text not null
);
create index approval_pending on approval (number) where state = 'pending';
create table event (seq integer primary key, body text not null);
create table document (kind text, id text, version integer not null, body text not null, primary key (kind, id)) without rowid;
`;
