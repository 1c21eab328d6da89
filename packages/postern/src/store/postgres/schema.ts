import { schemaStep2 } from "./schema-step-2.ts";
import { schemaStep3 } from "./schema-step-3.ts";

/**
 * The steps of the schema, in order. A step is never changed after a release; a change is a new step. A step adds what
 * the newer version needs and leaves what the older one uses (`oldest`), so that gateways of both versions work on the
 * store while the newer one is rolled out. A later step removes the rest. The name of a function contains its step for
 * the same reason.
 */
export interface PostgresStep {
  readonly step: number;
  /** The oldest step whose gateways can still work on the store after this one. */
  readonly oldest: number;
  readonly sql: string;
}

/**
 * `head` has one row: the place of the next event. The process that commits holds its lock until the transaction ends, so the log
 * has one order without gaps. `opening` has a row for each opening of the store: its lease, and the last batch it wrote.
 * `changed` of a document counts the changes of all documents. `call` is that of the store in a file, with a version.
 * `past` has the entry with which each opening changed a scope of past calls last (core/src/records.ts, `ClaimedPast`).
 */
const tables = `
create table head (one boolean primary key default true check (one), seq bigint not null, changed bigint not null)
  with (fillfactor = 50);
insert into head (seq, changed) values (0, 0);
create table opening (
  number integer generated always as identity primary key, incarnation text not null unique, step integer not null,
  session integer not null default 0, batch bigint not null default 0, first bigint not null default 0,
  lease_until timestamptz not null
) with (fillfactor = 50);
create table lease (name text collate "C" primary key, holder text not null, lease_until timestamptz not null);
create table call (
  key text collate "C" primary key, id text collate "C" not null unique, left_by text collate "C",
  match text collate "C", live_until bigint, fence text collate "C", state text not null, tool text collate "C" not null,
  tenant text collate "C" not null, run text collate "C" not null, parent text collate "C", alive_until double precision,
  arguments text not null, body text not null, outcome text, version bigint not null
) with (fillfactor = 80);
create index call_left_by on call (left_by) where left_by is not null;
create index call_live on call (match) where live_until is not null;
create index call_open on call (fence) where fence is not null;
create index call_parent on call (parent, id) where parent is not null;
create index call_run on call (run, id);
create table call_artifact (digest text collate "C", id text collate "C", primary key (digest, id));
create table approval (
  number bigint generated always as identity primary key, id text collate "C" not null unique, state text not null,
  tenant text collate "C" not null, tool text collate "C" not null, risk text not null, agent text collate "C" not null,
  "user" text collate "C", run text collate "C" not null, audience text collate "C" not null, ends bigint not null,
  body text not null, version bigint not null
);
create index approval_ends on approval (ends, number, audience) where state = 'pending';
create index approval_state on approval (state, number);
create table event (seq bigint primary key, opening integer not null, body text not null);
create table document (
  kind text collate "C", id text collate "C", version bigint not null, body text not null, changed bigint not null,
  opening integer not null, primary key (kind, id)
);
create index document_changed on document (changed);
create table past (scope text collate "C", opening integer, seq bigint not null, primary key (scope, opening));
`;

/**
 * One batch of writes. Null: a row that the batch was decided on has another version; nothing is written, decide again.
 * Each statement of a volatile function has a new snapshot, so the checks see what was committed before the lock was had.
 * The lock of the row of the opening makes a statement of a lost connection end before the next connection begins, and
 * `session` refuses one that arrives after that.
 */
const commit = `
create function postern_commit_1(
  p_opening integer, p_session integer, p_batch bigint, p_rows json, p_live json, p_asked json, p_named json,
  p_inserts json, p_updates json, p_references json, p_approvals json, p_documents json, p_events json,
  p_seen json, p_scopes json
) returns bigint language plpgsql volatile as $body$
declare
  place bigint;
  changes bigint;
begin
  select seq into place from head for update;
  perform from opening where number = p_opening and session = p_session for update;
  if not found then
    raise exception 'this connection was replaced by a newer one' using errcode = 'PT001';
  end if;
  if p_rows is not null and exists (
    select from json_to_recordset(p_rows) as x(key text, version bigint)
      left join call c on c.key = x.key where coalesce(c.version, 0) <> x.version
  ) then return null; end if;
  if p_live is not null and exists (
    select from json_to_recordset(p_live) as x(match text, now bigint, rows integer)
      where x.rows <> (select count(*) from call c where c.match = x.match and c.live_until > x.now)
  ) then return null; end if;
  if p_asked is not null and exists (
    select from json_to_recordset(p_asked) as x(id text, version bigint)
      left join approval a on a.id = x.id where coalesce(a.version, 0) <> x.version
  ) then return null; end if;
  if p_named is not null and exists (
    select from json_to_recordset(p_named) as x(kind text, id text, version bigint)
      left join document d on d.kind = x.kind and d.id = x.id where coalesce(d.version, 0) <> x.version
  ) then return null; end if;
  if p_seen is not null and exists (
    select from json_to_recordset(p_seen) as x(scope text, seq bigint)
      join past p on p.scope = x.scope where p.opening <> p_opening and p.seq > x.seq
  ) then return null; end if;
  if p_inserts is not null then
    insert into call (key, id, left_by, match, live_until, fence, state, tool, tenant, run, parent, alive_until, arguments,
        body, outcome, version)
      select key, id, left_by, match, live_until, fence, state, tool, tenant, run, parent, alive_until, arguments, body,
        outcome, version from json_populate_recordset(null::call, p_inserts);
  end if;
  if p_updates is not null then
    update call c set left_by = x.left_by, match = x.match, live_until = x.live_until, fence = x.fence, state = x.state,
        alive_until = x.alive_until, body = x.body, outcome = x.outcome, version = x.version
      from json_populate_recordset(null::call, p_updates) x where c.key = x.key;
  end if;
  if p_references is not null then
    insert into call_artifact (digest, id)
      select digest, id from json_to_recordset(p_references) as x(digest text, id text) on conflict do nothing;
  end if;
  if p_approvals is not null then
    insert into approval (id, state, tenant, tool, risk, agent, "user", run, audience, ends, body, version)
      select id, state, tenant, tool, risk, agent, "user", run, audience, ends, body, version
        from json_populate_recordset(null::approval, p_approvals)
      on conflict (id) do update set state = excluded.state, risk = excluded.risk, audience = excluded.audience,
        ends = excluded.ends, body = excluded.body, version = excluded.version;
  end if;
  if p_documents is not null then
    update head set changed = changed + 1 returning changed into changes;
    insert into document (kind, id, version, body, changed, opening)
      select kind, id, version, body, changes, p_opening from json_populate_recordset(null::document, p_documents)
      on conflict (kind, id) do update set version = excluded.version, body = excluded.body,
        changed = excluded.changed, opening = excluded.opening;
  end if;
  if p_events is not null then
    insert into event (seq, opening, body)
      select place + x.at - 1, p_opening, x.body
        from json_array_elements_text(p_events) with ordinality as x(body, at);
    update head set seq = place + json_array_length(p_events);
  end if;
  if p_scopes is not null then
    insert into past (scope, opening, seq)
      select distinct x.scope, p_opening, place + coalesce(json_array_length(p_events), 0) - 1
        from json_array_elements_text(p_scopes) as x(scope)
      on conflict (scope, opening) do update set seq = excluded.seq;
  end if;
  update opening set batch = p_batch, first = place where number = p_opening;
  perform pg_notify('postern ' || current_schema(), p_opening::text);
  return place;
end
$body$;
`;

export const schemaSteps: readonly PostgresStep[] = [
  { step: 1, oldest: 1, sql: tables + commit },
  { step: 2, oldest: 1, sql: schemaStep2 },
  { step: 3, oldest: 1, sql: schemaStep3 },
];
