import type { ListedTokenAnswer } from "@postern/core/contract";
import { type ReactNode, useState } from "react";
import { ask, plainSentence, useAnswer } from "../../api/index.ts";
import {
  Badge,
  Button,
  Card,
  type Column,
  Dialog,
  EmptyState,
  NotYet,
  Table,
  Text,
  Time,
  type Tone,
} from "../../kit/index.ts";
import { ChoiceDialog, useChange } from "../dialogs.tsx";
import { MakeToken } from "./make-token.tsx";

const states: Readonly<Record<ListedTokenAnswer["state"], readonly [tone: Tone, word: string]>> = {
  live: ["safe", "works"],
  over: ["neutral", "ended"],
  revoked: ["high", "revoked"],
  dead: ["medium", "does not work"],
};

const columns = (revoke: (token: ListedTokenAnswer) => void): readonly Column<ListedTokenAnswer>[] => [
  {
    name: "Token",
    cell: ({ name, kind, agent = name, user, owner }) => (
      <>
        <Text className="font-medium">{name}</Text>
        <Text className="block text-ink-2">
          {kind === "person"
            ? `decides and reads for ${owner}`
            : `calls as ${agent}${user === undefined ? "" : ` for ${user}`}, made by ${owner}`}
        </Text>
      </>
    ),
  },
  {
    name: "State",
    cell: ({ state, why = "", lost }) => (
      <>
        <Badge tone={states[state][0]}>{states[state][1]}</Badge>
        <Text className="block text-ink-2">
          {state === "live" && lost.length > 0 ? `Its maker may no longer: ${lost.join(", ")}` : plainSentence(why)}
        </Text>
      </>
    ),
  },
  { name: "Last used", cell: ({ last_used_at: at }) => (at === undefined ? "never" : <Time at={at} />), wide: true },
  { name: "Ends", cell: ({ expires_at: at, revoked_at: revokedAt = at }) => <Time at={revokedAt} />, wide: true },
  {
    name: "Revoke",
    cell: (token) =>
      (token.state === "live" || token.state === "dead") && (
        <Button size="small" aria-label={`Revoke ${token.name}`} onClick={() => revoke(token)}>
          Revoke…
        </Button>
      ),
  },
];

/** An administrator's list is of all in the tenant. */
export function TokensTab(): ReactNode {
  const { data, error, refetch } = useAnswer("GET /v1/tokens", {});
  const [isMaking, setIsMaking] = useState(false);
  const [made, setMade] = useState<string>();
  const [revoked, setRevoked] = useState<ListedTokenAnswer>();
  const change = useChange();
  if (data === undefined) return <NotYet error={error} again={refetch} />;
  const open = (isOpen: boolean): void => {
    setIsMaking(isOpen);
    setMade(undefined);
  };
  const revoke = async (): Promise<string | undefined> =>
    revoked && change(() => ask("DELETE /v1/tokens/{id}", { id: revoked.id }));
  return (
    <Card
      title="Tokens"
      actions={
        <Button size="small" onClick={() => open(true)}>
          Make a token…
        </Button>
      }
    >
      {data.tokens.length > 0 && (
        <Table label="Tokens" columns={columns(setRevoked)} rows={data.tokens} keyOf={({ id }) => id} />
      )}
      {data.tokens.length === 0 && (
        <EmptyState icon="lock" title="No token was made">
          A token lets a program call tools, or decide for you.
        </EmptyState>
      )}
      <Dialog title="Make a token" open={isMaking} onClose={() => open(false)}>
        <MakeToken isFull made={made} onMade={setMade} />
      </Dialog>
      {revoked !== undefined && (
        <ChoiceDialog
          title={`Revoke ${revoked.name}?`}
          choices={[{ word: "Revoke", look: "danger", send: revoke }]}
          onClose={() => setRevoked(undefined)}
        >
          <p>It is refused from the next request on. That cannot be undone.</p>
        </ChoiceDialog>
      )}
    </Card>
  );
}
