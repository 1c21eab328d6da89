import { placeInSql } from "../urgency.ts";

/** What the triggers do: a request begins to wait, or ends to; its state is counted, or no longer. */
const enter = `
  insert into waiting (run, audience, tenant, tool, risk, agent, user, count, first, last)
    values (new.run, new.audience, new.tenant, new.tool, new.risk, new.agent, new.user, 1, new.number, new.number)
    on conflict (run, audience) do update set count = count + 1,
      first = min(ifnull(first, new.number), new.number), last = max(ifnull(last, new.number), new.number);`;

const edge = (which: "min" | "max"): string => `(select ${which}(number) from approval
      where state = 'pending' and run = old.run and audience = old.audience)`;
const leave = `
  update waiting set count = count - 1, first = iif(first = old.number, ${edge("min")}, first),
    last = iif(last = old.number, ${edge("max")}, last) where run = old.run and audience = old.audience;
  delete from waiting where run = old.run and audience = old.audience and count = 0;`;

const add = `
  insert into request_count (tenant, state, count) values (new.tenant, new.state, 1)
    on conflict (tenant, state) do update set count = count + 1;`;
const remove = "\n  update request_count set count = count - 1 where tenant = old.tenant and state = old.state;";

/**
 * Pending requests get the order of urgency.ts: `ends` is their expiry, `place` their place if they do not end soon.
 *
 * `waiting` has a row for each run and audience, which determines tool, risk and principal; `first` and `last` are numbers
 * of its requests. `request_count` counts all requests. Triggers keep both true, so each count costs as much as there are
 * groups, not requests. `statistic` has the rows of statistics.ts.
 */
export const schemaStep9: string = `
alter table approval add column ends integer not null default 0;
update approval set ends = urgency / 240000 * 60000 + urgency % 60000;
drop index approval_pending;
alter table approval drop column urgency;
alter table approval add column place integer generated always as (${placeInSql}) virtual;
create index approval_ends on approval (ends, number, audience, run) where state = 'pending';
create index approval_place on approval (place, audience) where state = 'pending';
create index approval_group on approval (run, audience, number) where state = 'pending';
create index approval_unused on approval (tenant, ends) where state = 'approved';
create index call_unknown on call (tenant) where state = 'unknown';
create table waiting (
  run text not null, audience text not null, tenant text not null, tool text not null, risk text not null,
  agent text not null, user text, count integer not null, first integer, last integer, primary key (run, audience)
) without rowid;
create table request_count (
  tenant text not null, state text not null, count integer not null, primary key (tenant, state)
) without rowid;
create table statistic (
  minutes integer not null, at integer not null, tenant text not null, tool text not null, action text not null,
  agent text not null, decider text not null, counted_as text not null, code text not null, step integer not null,
  count integer not null, last_at integer not null,
  primary key (minutes, at, tenant, tool, action, agent, decider, counted_as, code, step)
) without rowid;
insert into waiting select run, audience, min(tenant), min(tool), min(risk), min(agent), min(user), count(*), min(number),
  max(number) from approval where state = 'pending' group by run, audience;
insert into request_count select tenant, state, count(*) from approval group by tenant, state;
create trigger approval_added after insert on approval begin ${add}
end;
create trigger approval_state_changed after update on approval when old.state <> new.state begin ${remove} ${add}
end;
create trigger approval_removed after delete on approval begin ${remove}
end;
create trigger approval_waits after insert on approval when new.state = 'pending' begin ${enter}
end;
create trigger approval_moved after update on approval
  when new.state = 'pending' and (old.state <> 'pending' or old.audience <> new.audience) begin ${enter}
end;
create trigger approval_left after update on approval
  when old.state = 'pending' and (new.state <> 'pending' or old.audience <> new.audience) begin ${leave}
end;
create trigger approval_waiting_removed after delete on approval when old.state = 'pending' begin ${leave}
end;
`;
