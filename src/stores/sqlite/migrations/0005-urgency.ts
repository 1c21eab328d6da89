/** What waits is listed by how soon it ends and how risky it is (urgency.ts has the number), off one index. */
export const urgency: string = `
alter table approval add column urgency integer;
update approval set urgency = (cast(body ->> '$.expiresAt' as integer) / 60000 * 4
  + case body ->> '$.risk' when 'critical' then 0 when 'high' then 1 when 'medium' then 2 else 3 end) * 60000
  + cast(body ->> '$.expiresAt' as integer) % 60000;
drop index approval_pending;
create index approval_pending on approval (urgency, number, audience, run) where state = 'pending';
`;
