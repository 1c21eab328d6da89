import { keptMs } from "../statistics.ts";
import { placeInSql } from "../urgency.ts";

/**
 * The order of waiting requests, their counts, and statistics, as in the store in a file (sqlite/schema-step-9.ts).
 *
 * `waiting` has a row for each run and audience, which determines tool, risk and principal; `first` and `last` are numbers
 * of its requests. `request_count` counts all requests. A trigger keeps both true.
 */
export const schemaStep2: string = `
alter table approval add column place bigint generated always as (${placeInSql}) stored;
create index approval_place on approval (place, audience) where state = 'pending';
create index approval_group on approval (run, audience, number) where state = 'pending';
create index approval_unused on approval (tenant, ends) where state = 'approved';
create index call_unknown on call (tenant) where state = 'unknown';
create table waiting (
  run text collate "C" not null, audience text collate "C" not null, tenant text collate "C" not null,
  tool text collate "C" not null, risk text not null, agent text collate "C" not null, "user" text collate "C",
  count bigint not null, first bigint, last bigint, primary key (run, audience)
) with (fillfactor = 50);
create table request_count (
  tenant text collate "C" not null, state text not null, count bigint not null, primary key (tenant, state)
) with (fillfactor = 50);
create table statistic (
  minutes integer not null, at bigint not null, tenant text collate "C" not null, tool text collate "C" not null,
  action text collate "C" not null, agent text collate "C" not null, decider text collate "C" not null,
  counted_as text not null, code text not null, step integer not null, count bigint not null, last_at bigint not null,
  primary key (minutes, at, tenant, tool, action, agent, decider, counted_as, code, step)
) with (fillfactor = 80);
insert into waiting select run, audience, min(tenant), min(tool), min(risk), min(agent), min("user"), count(*), min(number),
  max(number) from approval where state = 'pending' group by run, audience;
insert into request_count select tenant, state, count(*) from approval group by tenant, state;

create function approval_counted_2() returns trigger language plpgsql as $body$
begin
  if tg_op <> 'INSERT' and old.state is distinct from new.state then
    update request_count set count = count - 1 where tenant = old.tenant and state = old.state;
  end if;
  if tg_op <> 'DELETE' and old.state is distinct from new.state then
    insert into request_count as r values (new.tenant, new.state, 1)
      on conflict (tenant, state) do update set count = r.count + 1;
  end if;
  if new.state = 'pending' and (old.state is distinct from 'pending' or old.audience <> new.audience) then
    insert into waiting as w (run, audience, tenant, tool, risk, agent, "user", count, first, last)
      values (new.run, new.audience, new.tenant, new.tool, new.risk, new.agent, new."user", 1, new.number, new.number)
      on conflict (run, audience) do update set count = w.count + 1, first = least(w.first, excluded.first),
        last = greatest(w.last, excluded.last);
  end if;
  if old.state = 'pending' and (new.state is distinct from 'pending' or old.audience <> new.audience) then
    update waiting w set count = count - 1,
      first = case when first = old.number then (select min(number) from approval a
        where a.state = 'pending' and a.run = old.run and a.audience = old.audience) else first end,
      last = case when last = old.number then (select max(number) from approval a
        where a.state = 'pending' and a.run = old.run and a.audience = old.audience) else last end
      where w.run = old.run and w.audience = old.audience;
    delete from waiting where run = old.run and audience = old.audience and count = 0;
  end if;
  return null;
end
$body$;
create trigger approval_counted after insert or update or delete on approval
  for each row execute function approval_counted_2();

create function postern_count_2(p_place bigint, p_counted json) returns boolean language plpgsql volatile as $body$
declare
  latest bigint;
begin
  if p_place is null or p_counted is null then return false; end if;
  insert into statistic as s select * from json_populate_recordset(null::statistic, p_counted)
    on conflict (minutes, at, tenant, tool, action, agent, decider, counted_as, code, step)
      do update set count = s.count + excluded.count, last_at = greatest(s.last_at, excluded.last_at);
  select max(last_at) into latest from json_to_recordset(p_counted) as x(last_at bigint);
  delete from statistic where (minutes = 1 and at < latest - ${keptMs.minute})
    or (minutes = 60 and at < latest - ${keptMs.hour});
  return true;
end
$body$;
`;
