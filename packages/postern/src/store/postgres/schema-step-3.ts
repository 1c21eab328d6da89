/**
 * Erases rows that retention has judged. False: a row that it looked at has another version; nothing is erased, judge again.
 *
 * It locks the place of the log as a batch does, because a batch checks versions and then writes without a lock of the
 * rows. So it does not wait for the disk either: what a crash takes back is erased again.
 */
export const schemaStep3: string = `
create function postern_erase_3(
  p_rows json, p_requests json, p_removed json, p_emptied json, p_released json
) returns boolean language plpgsql volatile
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off as $body$
begin
  perform set_config('synchronous_commit', 'off', true);
  perform from head for update;
  if exists (
    select from json_to_recordset(p_rows) as x(key text, version bigint)
      left join call c on c.key = x.key where coalesce(c.version, 0) <> x.version
  ) or exists (
    select from json_to_recordset(p_requests) as x(id text, version bigint)
      left join approval a on a.id = x.id where coalesce(a.version, 0) <> x.version
  ) then return false; end if;
  delete from call where key in (select json_array_elements_text(p_removed));
  update call c set arguments = '{}', outcome = null, body = x.body, version = c.version + 1
    from json_to_recordset(p_emptied) as x(key text, body text) where c.key = x.key;
  delete from call_artifact a using json_to_recordset(p_released) as x(digest text, id text)
    where a.digest = x.digest and a.id = x.id;
  delete from approval where id in (select x.id from json_to_recordset(p_requests) as x(id text));
  return true;
end
$body$;
`;
