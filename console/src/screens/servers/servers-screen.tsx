/** Upstream servers: whether each is connected, why not, and what was called there. */
import type { ServerHealth } from "@postern/core/contract";
import { getRouteApi } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { ask, plainSentence, useMay } from "../../api/index.ts";
import {
  Badge,
  CallsLink,
  Card,
  EmptyState,
  ErrorNotice,
  Facts,
  NotYet,
  number,
  Text,
  TextLink,
  Time,
} from "../../kit/index.ts";
import { BrakeButton } from "../brakes.tsx";
import { ChangeButton } from "../dialogs.tsx";
import { LineTable } from "../overview/figures.tsx";
import { type Group, useStatistics, useTools } from "../tools/use-tools.ts";

const route = getRouteApi("/servers/{-$server}");

/** The tools of a configured server. */
type Server = Group & { readonly server: string; readonly health: ServerHealth };

export function ServersScreen(): ReactNode {
  const { server: name } = route.useParams();
  const { groups, error, again } = useTools();
  if (groups === undefined) return <NotYet error={error} again={again} />;
  const servers = groups.filter((group): group is Server => group.health !== undefined);
  const shown = servers.filter(({ server }) => name === undefined || server === name);
  return (
    <div className="mx-auto grid max-w-5xl gap-4 p-4 lg:p-6">
      {shown.length === 0 && (
        <EmptyState title={name === undefined ? "No server is configured" : "There is no such server"} />
      )}
      {shown.map((server) => (
        <ServerCard key={server.server} server={server} isWhole={name !== undefined} />
      ))}
      {shown.length > 0 && name !== undefined && <Calls server={name} />}
      {name !== undefined && (
        <p className="text-center">
          <TextLink to="/servers/{-$server}" params={{ server: undefined }}>
            All servers
          </TextLink>
        </p>
      )}
    </div>
  );
}

const tones = { connected: "safe", connecting: "medium", disconnected: "critical", idle: "neutral" } as const;

type ServerCardProps = Readonly<{ server: Server; isWhole: boolean }>;

function ServerCard({ server: { server: name, health, tools }, isWhole }: ServerCardProps): ReactNode {
  const { status, changes, restarts, problem, on_demand: onDemand, refused } = health;
  const isOperator = useMay()("tools:switch");
  const past = changes.slice(0, -1).toReversed();
  return (
    <Card
      title={
        <TextLink to="/servers/{-$server}" params={{ server: name }}>
          <Text>{name}</Text>
        </TextLink>
      }
      actions={<Badge tone={tones[status]}>{status === "idle" ? "stopped" : status}</Badge>}
      body="grid gap-3"
    >
      <ErrorNotice>{problem && plainSentence(problem)}</ErrorNotice>
      <Facts
        rows={{
          Since: <Time at={changes.at(-1)?.at} />,
          Starts: onDemand === true ? "with the first call that needs it" : "with Postern",
          Restarts: `${number(restarts)} since Postern started`,
          Before: isWhole && past.length > 0 && (
            <ul aria-label="Earlier states">
              {past.map(({ at, status: was, problem: why }) => (
                <li key={at}>
                  <Time at={at} /> {was === "idle" ? "stopped" : was}
                  {why !== undefined && <Text lines>{`: ${plainSentence(why)}`}</Text>}
                </li>
              ))}
            </ul>
          ),
          Tools: !isWhole ? (
            number(tools.length)
          ) : (
            <span className="flex flex-wrap gap-x-3 gap-y-1">
              {tools.map(({ name: tool }) => (
                <TextLink key={tool} to="/tools/{-$tool}" params={{ tool }}>
                  <Text>{tool}</Text>
                </TextLink>
              ))}
            </span>
          ),
          "Not offered": refused.length > 0 && (
            <Text lines>{refused.map(({ tool, why }) => `${tool}: ${why}`).join("\n")}</Text>
          ),
        }}
      />
      <div className="flex flex-wrap gap-2 empty:hidden">
        {isOperator && (
          <ChangeButton
            size="small"
            change={() => ask("POST /v1/servers/{name}/reconnect", { name })}
            done="It is connected."
          >
            Reconnect
          </ChangeButton>
        )}
        <BrakeButton kind="server" name={name} />
      </div>
    </Card>
  );
}

/** What was called there, how it ended and how long it took. */
function Calls({ server }: { readonly server: string }): ReactNode {
  const { data } = useStatistics("day", useMay()("controls:read"));
  if (data === undefined) return null;
  const tools = data.tools.filter(({ tool }) => tool.startsWith(`${server}__`));
  return (
    <Card title="Calls in the last 24 hours" actions={<CallsLink search={`${server}__`}>Latest calls</CallsLink>}>
      <LineTable of="Tool" label="Its tools, the busiest first" lines={tools} since={data.from} nothing="None" />
    </Card>
  );
}
