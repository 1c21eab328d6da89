/** Who called what is kept once for many rows (`call_form`). */
export const forms: string = `
create table call_form (
  number integer primary key, tool text not null, action text not null, definition text not null, fence text,
  authority text not null
);
alter table call rename to call_whole;
create table call (
  number integer primary key, id text not null, state integer not null, flags integer not null, form integer not null,
  alive_until, started_at, ended_at, arrived_at not null, trace_id text not null, more text, arguments text not null,
  outcome text
);
create table call_shared as select number, tool, action, definition, fence,
  json_remove(authority, '$.traceId', '$.taskId', '$.stepId') as authority,
  json_patch(coalesce(more, '{}'), json_object('taskId', authority ->> '$.taskId', 'stepId', authority ->> '$.stepId')) as more
  from call_whole;
insert into call_form (tool, action, definition, fence, authority)
  select distinct tool, action, definition, fence, authority from call_shared;
insert into call select whole.number, whole.id, state, flags, call_form.number, alive_until, started_at, ended_at, arrived_at,
  whole.authority ->> '$.traceId', nullif(shared.more, '{}'), arguments, outcome
  from call_whole as whole join call_shared as shared using (number) join call_form
    on call_form.tool = shared.tool and call_form.action = shared.action and call_form.definition = shared.definition
    and call_form.fence is shared.fence and call_form.authority = shared.authority;
drop table call_whole;
drop table call_shared;
`;
