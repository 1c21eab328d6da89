/**
 * The first tables.
 *
 * `call.number` is the number inside the call's id, so that a row is appended without a search. A plain call touches no
 * index: keys that callers chose stand in `call_key`, what start-up must load in `call_waiting`, and even the condition
 * of a partial index would cost every call half a microsecond. `event` counts from 0 without gaps.
 */
export const first: string = `
create table meta (name text primary key, value not null) without rowid;
create table call (
  number integer primary key, id text not null, state integer not null, flags integer not null,
  fence text, alive_until, started_at, ended_at, arrived_at not null,
  tool text not null, action text not null, definition text not null, authority text not null,
  more text, arguments text not null, outcome text
);
create table call_key (key text primary key, number integer not null) without rowid;
create table call_waiting (number integer primary key);
create table approval (
  number integer primary key, id text not null unique, state text not null, tenant text not null, body text not null
);
create index approval_pending on approval (number) where state = 'pending';
create table event (seq integer primary key, body text not null);
create table document (kind text, id text, version integer not null, body text not null, primary key (kind, id)) without rowid;
`;
