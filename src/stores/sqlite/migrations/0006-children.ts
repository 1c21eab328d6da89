/** Which calls a call made, by their numbers: a script that goes on asks for all of its own. Plain calls have no part in it. */
export const children: string = `
create table call_child (parent integer, number integer, primary key (parent, number)) without rowid;
insert into call_child
  select parent.number, child.number from call as child join call as parent on parent.id = child.more ->> '$.parentId'
    where child.more like '%"parentId":"%';
`;
