/** One place for all that stays as it is until a person acts. */
import { defined } from "@postern/core";
import type { NeedItem, NeedKind, NeedView } from "@postern/core/contract";
import type { LinkProps } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { ask, plainSentence } from "../../api/index.ts";
import { CallsLink, Card, EmptyState, NotYet, number, RunLink, Text, TextLink, Time } from "../../kit/index.ts";
import { ByRisk } from "../approvals/by-risk.tsx";
import { ChangeButton } from "../dialogs.tsx";
import { titleOf, useNeeds } from "./use-needs.ts";

export function NeedsScreen(): ReactNode {
  const { data, error, refetch } = useNeeds();
  if (data === undefined) return <NotYet error={error} again={refetch} />;
  return (
    <div className="mx-auto grid max-w-4xl gap-4 p-4 lg:p-6">
      {data.needs.length === 0 && (
        <EmptyState title="Nothing needs a person">
          Requests, calls with an unknown outcome, scripts that stopped, memories, changed tools, servers that are down,
          failed notifications and missing sign-ins are shown here.
        </EmptyState>
      )}
      {data.needs.map((need) => (
        <Need key={need.kind} need={need} />
      ))}
    </div>
  );
}

function Need({ need }: { readonly need: NeedView }): ReactNode {
  const { kind, items, count, for_you: forYou, by_risk: byRisk } = need;
  const { what, place, acts = [] } = kinds[kind];
  return (
    <Card title={titleOf(need)} body="grid gap-2">
      <p className="text-ink-2">
        {what} {whoMay(need)}
      </p>
      <ByRisk counts={byRisk} />
      {kind === "approvals" && <TextLink {...place(requests)}>Open the requests</TextLink>}
      <ul aria-label={titleOf(need)} className="grid empty:hidden">
        {items.map((item) => (
          <li key={item.id} className="flex flex-wrap items-center gap-x-3 gap-y-1.5 border-t border-line py-2.5">
            <div className="grid min-w-0 flex-1 basis-72 gap-0.5 wrap-anywhere">
              <p className="font-medium">
                <TextLink {...place(item)}>
                  <Text>{item.name}</Text>
                </TextLink>
              </p>
              {item.text !== undefined && (
                <Text lines className="line-clamp-3 text-ink-2">
                  {kind === "memory" ? item.text : plainSentence(item.text)}
                </Text>
              )}
              <Origin item={item} />
            </div>
            {forYou > 0 &&
              acts.map(([word, done, send]) => (
                <ChangeButton key={word} size="small" change={() => send(item)} done={done}>
                  {word}
                </ChangeButton>
              ))}
          </li>
        ))}
      </ul>
      {kind === "unknown" && items.length < count && <CallsLink state="unknown">Show all</CallsLink>}
    </Card>
  );
}

function whoMay({ count, for_you: forYou, roles }: NeedView): string {
  const role = `the role ${roles.join(" or ")}`;
  if (forYou === 0) return `You may not act on this: it needs ${role}.`;
  return forYou < count ? `You may act on ${number(forYou)} of them.` : `You may act, and others with ${role}.`;
}

function Origin({ item: { agent, run_id: run, at } }: { readonly item: NeedItem }): ReactNode {
  return (
    <p className="flex flex-wrap gap-x-2 text-[0.9286rem] text-ink-3 empty:hidden">
      {agent !== undefined && <Text>{agent}</Text>}
      {run !== undefined && <RunLink id={run} />}
      {at !== undefined && <Time at={at} />}
    </p>
  );
}

type Act = readonly [word: string, done: string, send: (item: NeedItem) => Promise<unknown>];

interface Kind {
  /** What it means. */
  readonly what: string;
  /** What shows the item. */
  readonly place: (item: NeedItem) => LinkProps;
  readonly acts?: readonly Act[];
}

const requests: NeedItem = { id: "", name: "" };
const ofCall = ({ id, run_id: run }: NeedItem): LinkProps => ({
  ...{ to: "/runs/{-$run}", params: { run }, search: { call: id } },
});

const decide =
  (verb: "accept" | "reject"): Act[2] =>
  ({ id, run_id }) =>
    ask(`POST /v1/memory/candidates/{id}/${verb}`, { id, ...defined({ run_id }) });

const kinds: Readonly<Record<NeedKind, Kind>> = {
  approvals: {
    what: "Agents wait for a decision.",
    place: () => ({ to: "/approvals/{-$request}", params: { request: undefined } }),
  },
  unknown: {
    what: "It may have happened or not, and the same call is refused. Look, then say how it ended.",
    place: ofCall,
  },
  scripts: {
    what: "A script goes on where it stopped; what it did is not repeated.",
    place: ofCall,
    acts: [["Resume", "The script went on.", ({ id }) => ask("POST /v1/chains/{id}/resume", { id })]],
  },
  memory: {
    what: "Agents propose to remember this for later runs.",
    place: ofCall,
    acts: [
      ["Accept", "It is remembered.", decide("accept")],
      ["Reject", "It is not remembered.", decide("reject")],
    ],
  },
  tools: {
    what: "A tool cannot be called until its new definition is approved.",
    place: ({ id: tool }) => ({ to: "/tools/{-$tool}", params: { tool }, search: { tab: "definition" } }),
  },
  servers: {
    what: "The tools of a server that is down cannot be called. Postern tries again by itself.",
    place: ({ id: server }) => ({ to: "/servers/{-$server}", params: { server } }),
    acts: [["Reconnect", "It is connected.", ({ id: name }) => ask("POST /v1/servers/{name}/reconnect", { name })]],
  },
  channels: {
    what: "Notices were given up, so people may not know what waits for them. Requests can be decided here.",
    place: () => ({ to: "/alarms" }),
    acts: [
      ["Try again", "The notices are tried again.", ({ id: name }) => ask("POST /v1/channels/{name}/retry", { name })],
    ],
  },
  sign_ins: {
    what: "A server is connected when a person has signed in there.",
    place: ({ id: server }) => ({ to: "/connections/{-$server}", params: { server } }),
  },
};
