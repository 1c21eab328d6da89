/**
 * Who may decide is kept once for the many requests it is the same for (audience.ts), and lists are read off narrow
 * indexes: no request that is not shown is read.
 */
export const audiences: string = `
create table approval_audience (
  number integer primary key, tenant text not null, tool text not null, risk text not null, agent text not null,
  body text not null unique
);
alter table approval add column audience integer;
alter table approval add column run text;
create table approval_told as select number, body ->> '$.runId' as run,
  json_patch('{}', json_object('tool', body ->> '$.tool', 'server', body ->> '$.server', 'risk', body ->> '$.risk',
    'principal', body -> '$.principal', 'routed', json_remove(body -> '$.routed', '$.remindAt', '$.escalateAt'),
    'votes', body -> '$.votes', 'escalatedAt', body -> '$.escalatedAt')) as audience
  from approval;
insert or ignore into approval_audience (tenant, tool, risk, agent, body)
  select audience ->> '$.principal.tenant', audience ->> '$.tool', audience ->> '$.risk', audience ->> '$.principal.agent',
    audience from approval_told;
update approval set run = told.run, audience = (select number from approval_audience as one where one.body = told.audience)
  from approval_told as told where told.number = approval.number;
drop table approval_told;
drop index approval_pending;
create index approval_pending on approval (number, audience, run) where state = 'pending';
create index approval_list on approval (number, state, audience, run);
`;
