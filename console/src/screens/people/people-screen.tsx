/** Who can sign in, in which groups they are, and the tokens of programs. Who is no administrator sees their own tokens. */
import type { AccountAnswer } from "@postern/core/contract";
import { getRouteApi } from "@tanstack/react-router";
import { type ReactNode, useState } from "react";
import { useAnswer, useMay } from "../../api/index.ts";
import { Badge, Button, Card, type Column, EmptyState, NotYet, number, Table, Tabs, Text } from "../../kit/index.ts";
import { useRequests } from "../approvals/requests.ts";
import { PersonDialog } from "./person-dialog.tsx";
import { TokensTab } from "./tokens-tab.tsx";

const route = getRouteApi("/people/{-$tab}");
const tabs = [
  { id: "people", label: "People" },
  { id: "groups", label: "Groups" },
  { id: "tokens", label: "Tokens" },
];

export function PeopleScreen(): ReactNode {
  const { tab: id = "people" } = route.useParams();
  const navigate = route.useNavigate();
  const isAdmin = useMay()("accounts:admin");
  const open = (tab: string): void => void navigate({ to: "/people/{-$tab}", params: { tab } });
  return (
    <div className="mx-auto w-full max-w-5xl px-4 py-4 lg:px-6">
      {!isAdmin && <TokensTab />}
      {isAdmin && (
        <Tabs label="People, groups and tokens" tabs={tabs} selected={id} onSelect={open}>
          {id === "tokens" ? <TokensTab /> : <Accounts isByGroup={id === "groups"} />}
        </Tabs>
      )}
    </div>
  );
}

function Accounts({ isByGroup }: { readonly isByGroup: boolean }): ReactNode {
  const { data, error, refetch } = useAnswer("GET /v1/accounts", {});
  if (data === undefined) return <NotYet error={error} again={refetch} />;
  return isByGroup ? <Groups people={data.accounts} /> : <People people={data.accounts} />;
}

const nameOf = ({ name, display_name }: AccountAnswer): string =>
  display_name === name ? name : `${display_name} (${name})`;

function People({ people }: { readonly people: readonly AccountAnswer[] }): ReactNode {
  const { person } = route.useSearch();
  const navigate = route.useNavigate();
  const [isAdding, setIsAdding] = useState(false);
  const open = people.find(({ name }) => name === person);
  const show = (name: string | undefined): void => void navigate({ to: ".", search: { person: name }, replace: true });
  const columns: readonly Column<AccountAnswer>[] = [
    {
      name: "Name",
      cell: (one) => (
        <button type="button" className="text-left text-accent underline" onClick={() => show(one.name)}>
          <Text>{nameOf(one)}</Text>
        </button>
      ),
    },
    { name: "Roles", cell: ({ roles }) => roles.join(", ") || "none" },
    { name: "Groups", cell: ({ groups }) => <Text>{groups.join(", ")}</Text>, wide: true },
    { name: "State", cell: ({ disabled }) => (disabled ? <Badge tone="medium">disabled</Badge> : "may sign in") },
  ];
  const add = (
    <Button size="small" onClick={() => setIsAdding(true)}>
      Add a person…
    </Button>
  );
  return (
    <Card title="People" actions={add}>
      {people.length > 0 && <Table label="People" columns={columns} rows={people} keyOf={({ id }) => id} />}
      {people.length === 0 && (
        <EmptyState icon="people" title="No person has an account yet">
          The link that Postern printed signed you in. From the first account on, only people sign in.
        </EmptyState>
      )}
      {isAdding && (
        <PersonDialog
          account={undefined}
          isFirst={people.length === 0}
          onAdded={show}
          onClose={() => setIsAdding(false)}
        />
      )}
      {open !== undefined && <PersonDialog key={open.id} account={open} onClose={() => show(undefined)} />}
    </Card>
  );
}

interface Group {
  readonly name: string;
  readonly people: readonly AccountAnswer[];
  /** So many requests wait for it. */
  readonly waiting: number;
}

/** A group is a word that accounts have and routes name. */
function Groups({ people }: { readonly people: readonly AccountAnswer[] }): ReactNode {
  const { rows: requests = [], hasMore } = useRequests({});
  const asked = requests.flatMap(({ routed }) => routed.to.groups ?? []);
  const names = [...new Set([...people.flatMap(({ groups }) => groups), ...asked])].sort();
  const groups = names.map((name): Group => {
    const waiting = asked.filter((one) => one === name).length;
    return { name, people: people.filter((one) => one.groups.includes(name)), waiting };
  });
  const columns: readonly Column<Group>[] = [
    { name: "Group", cell: ({ name }) => <Text className="font-medium">{name}</Text> },
    { name: "People", cell: ({ people: members }) => <Text>{members.map(nameOf).join(", ") || "none"}</Text> },
    {
      name: "Requests that wait for it",
      align: "right",
      cell: ({ waiting }) => `${hasMore ? "at least " : ""}${number(waiting)}`,
    },
  ];
  return (
    <Card title="Groups">
      {groups.length > 0 && <Table label="Groups" columns={columns} rows={groups} keyOf={({ name }) => name} />}
      {groups.length === 0 && <EmptyState icon="people" title="No person is in a group" />}
      <p className="px-4 py-3 text-ink-2">
        Routes of the configuration send requests to groups. A person is put into a group under People.
      </p>
    </Card>
  );
}
