/** Which calls refer to an artifact: sweeping asks it of a few digests, instead of reading every row. Plain calls have no part in it. */
export const artifacts: string = `
create table call_artifact (digest text, number integer, primary key (digest, number)) without rowid;
insert or ignore into call_artifact
  select reference.value, number from call, json_tree(arguments) as reference
    where arguments like '%artifact":"%' and reference.key in ('$artifact', 'artifact') and length(reference.value) = 64
  union
  select reference.value, number from call, json_tree(outcome) as reference
    where outcome like '{%artifact":"%' and reference.key in ('$artifact', 'artifact') and length(reference.value) = 64;
`;
