/** The reader's own sign-ins and keys at upstream servers: a link of a refused call leads here. */
import type { ConnectionView } from "@postern/core/contract";
import { getRouteApi } from "@tanstack/react-router";
import { type FormEvent, type ReactNode, useState } from "react";
import { ask, useAnswer } from "../../api/index.ts";
import {
  Badge,
  Button,
  Card,
  EmptyState,
  ErrorNotice,
  Facts,
  Notice,
  NotYet,
  Text,
  TextField,
  TextLink,
  Time,
  toast,
} from "../../kit/index.ts";
import { ChangeButton, useSending } from "../dialogs.tsx";

const route = getRouteApi("/connections/{-$server}");

export function ConnectionsScreen(): ReactNode {
  const { server: id } = route.useParams();
  const { data, error, refetch } = useAnswer("GET /v1/connections", {});
  const shown = data?.connections.filter(({ server }) => id === undefined || server === id);
  return (
    <div className="mx-auto grid w-full max-w-3xl gap-4 p-4 lg:p-6">
      <WayBack />
      {shown === undefined && <NotYet error={error} again={() => void refetch()} rows={3} />}
      {shown?.length === 0 && (
        <EmptyState title={id === undefined ? "No server asks for a sign-in" : "No such server asks for a sign-in"}>
          Servers with OAuth, or with a key of each person, are shown here.
        </EmptyState>
      )}
      {shown?.map((connection) => (
        <ConnectionCard key={connection.server} connection={connection} />
      ))}
      {id !== undefined && (
        <p className="text-center">
          <TextLink to="/connections/{-$server}" params={{ server: undefined }}>
            All connections
          </TextLink>
        </p>
      )}
    </div>
  );
}

/** Codes in the address after a sign-in at a server. Any other text there is ignored: another site may have written it. */
const ends = new Map([
  ["done", ["safe", "You are connected. Calls for you use this sign-in from now on."]],
  [
    "refused",
    [
      "critical",
      "The sign-in did not connect you: it was declined, took too long or was begun in another browser. Try again; the audit log has the reason.",
    ],
  ],
] as const);

function WayBack(): ReactNode {
  const { sign_in } = route.useSearch();
  const end = ends.get(sign_in as "done"); // any other value is not in the map
  return end === undefined ? null : <Notice tone={end[0]}>{end[1]}</Notice>;
}

function ConnectionCard({ connection }: { readonly connection: ConnectionView }): ReactNode {
  const { server, per, connected, may_change: mayChange, since, scopes, signs_in: signsIn, keys } = connection;
  return (
    <Card
      title={<Text>{server}</Text>}
      actions={<Badge tone={connected ? "safe" : "neutral"}>{connected ? "connected" : "not connected"}</Badge>}
      body="grid gap-3"
    >
      <Facts
        rows={{
          For: per === "user" ? "you" : "all people",
          Since: since && <Time at={since} />,
          Permissions: scopes && <Text>{scopes.join(", ")}</Text>,
        }}
      />
      {mayChange ? (
        <>
          {keys.length > 0 && <KeyForm connection={connection} />}
          <div className="flex flex-wrap gap-2">
            {signsIn && <SignInButton connection={connection} />}
            {connected && (
              <ChangeButton change={() => ask("DELETE /v1/connections/{server}", { server })} done="Revoked.">
                Revoke
              </ChangeButton>
            )}
          </div>
        </>
      ) : (
        <p className="text-ink-2">An operator connects this one for all people.</p>
      )}
    </Card>
  );
}

/** Leaves the page for the server's own sign-in. */
function SignInButton({ connection: { server, connected } }: { readonly connection: ConnectionView }): ReactNode {
  const { isBusy, problem, send } = useSending();
  const go = (): Promise<boolean> =>
    send(async () => {
      const { url } = await ask("POST /v1/connections/{server}/sign-in", { server });
      location.assign(url);
    });
  return (
    <>
      <Button look={connected ? "plain" : "primary"} busy={isBusy} onClick={() => void go()}>
        {connected ? "Connect again" : "Connect"}
      </Button>
      <div className="order-last w-full empty:hidden">
        <ErrorNotice>{problem}</ErrorNotice>
      </div>
    </>
  );
}

function KeyForm({ connection: { server, keys } }: { readonly connection: ConnectionView }): ReactNode {
  const [entered, setEntered] = useState<Readonly<Record<string, string>>>({});
  const { isBusy, problem, send } = useSending();
  const submit = async (event: FormEvent): Promise<void> => {
    event.preventDefault();
    const given = Object.fromEntries(Object.entries(entered).filter(([, text]) => text !== ""));
    if (!(await send(() => ask("PUT /v1/connections/{server}", { server, keys: given })))) return;
    setEntered({});
    toast("The key is stored. The console does not show it again.");
  };
  return (
    <form onSubmit={(event) => void submit(event)} className="grid gap-3">
      <ErrorNotice>{problem}</ErrorNotice>
      {keys.map((key) => (
        <TextField
          key={key}
          label={`Key ${key}`}
          type="password"
          value={entered[key] ?? ""}
          onChange={(text) => setEntered({ ...entered, [key]: text })}
        />
      ))}
      <div>
        <Button type="submit" busy={isBusy} disabled={Object.values(entered).every((text) => text === "")}>
          Keep
        </Button>
      </div>
    </form>
  );
}
