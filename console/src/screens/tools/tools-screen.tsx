import { getRouteApi } from "@tanstack/react-router";
import { type ReactNode, useMemo } from "react";
import { withCommandName } from "../../api/index.ts";
import {
  BackLink,
  Badge,
  classNames,
  counted,
  duration,
  EmptyState,
  type Filter,
  FilterBar,
  FilterTable,
  NotYet,
  number,
  RiskBadge,
  Text,
  TextLink,
  useFilters,
  useRowStop,
} from "../../kit/index.ts";
import { BrakeButton } from "../brakes.tsx";
import { Verdict } from "../policy/verdict.tsx";
import { hasWords, SplitView } from "../split-view.tsx";
import { ToolDetail } from "./tool-detail.tsx";
import { type Group, riskOf, type Tool, useTools } from "./use-tools.ts";

const route = getRouteApi("/tools/{-$tool}");

export function ToolsScreen(): ReactNode {
  const { tool: id } = route.useParams();
  const { search } = route.useSearch();
  const tools = useTools();
  const { groups, error, again } = tools;
  if (groups === undefined) return <NotYet error={error} again={again} rows={10} />;
  const chosen = groups.flatMap(({ tools }) => tools).find(({ name }) => name === id);
  return (
    <SplitView
      back={
        <BackLink to="/tools/{-$tool}" params={{ tool: undefined }} search={{ search }}>
          All tools
        </BackLink>
      }
      nothing={
        <EmptyState icon="tools" title="Choose a tool">
          Its risk and its source, its health, its definition, and a way to try it.
        </EmptyState>
      }
      list={<ToolList tools={tools} chosen={id} />}
      detail={
        id &&
        (chosen === undefined ? (
          <EmptyState icon="tools" title="This tool is not offered any more" />
        ) : (
          <ToolDetail key={id} tool={chosen} />
        ))
      }
    />
  );
}

/** The heading of a server, or one of its tools. */
type Row = { readonly group: Group; readonly tool?: never } | { readonly tool: Tool; readonly group?: never };

function isHead({ group }: Row): boolean {
  return group !== undefined;
}

function keyOf({ group, tool }: Row): string {
  return tool === undefined ? `server ${group.server ?? ""}` : tool.name;
}

function rowsOf(groups: readonly Group[], words: string | undefined): readonly Row[] {
  const isWanted = ({ name, server, actions }: Tool): boolean =>
    hasWords([name, server, ...actions.map(({ description }) => description)], words);
  return groups.flatMap((group) => {
    const tools = group.tools.filter(isWanted);
    const isShown = tools.length > 0 || (group.server !== undefined && hasWords([group.server], words));
    return isShown ? [{ group: { ...group, tools } }, ...tools.map((tool) => ({ tool }))] : [];
  });
}

const filters: readonly Filter[] = [
  { name: "search", label: "Search tools", placeholder: "Name, server or description" },
];

type ToolListProps = Readonly<{ tools: ReturnType<typeof useTools>; chosen: string | undefined }>;

function ToolList({ tools, chosen }: ToolListProps): ReactNode {
  const { groups, error, again } = tools;
  const { search: words } = route.useSearch();
  const rows = useMemo(() => groups && rowsOf(groups, words), [groups, words]);
  const total = groups?.reduce((sum, { tools }) => sum + tools.length, 0);
  return (
    <>
      <FilterBar {...useFilters()} filters={filters} />
      <FilterTable
        label="Tools"
        pages={{ rows, error, again }}
        total={total}
        keyOf={keyOf}
        isHead={isHead}
        estimate={60}
        chosen={chosen}
        link={({ tool }) => tool && { to: "/tools/{-$tool}", params: { tool: tool.name }, search: { search: words } }}
        row={({ group, tool }) => (tool === undefined ? <GroupHead group={group} /> : <ToolRow tool={tool} />)}
        nothing={<EmptyState icon="tools" title={words === undefined ? "No tools yet" : "No tool matches"} />}
      />
    </>
  );
}

function GroupHead({ group: { server, health, tools } }: { readonly group: Group }): ReactNode {
  const stop = useRowStop();
  return (
    <>
      <header className="flex min-h-10 items-center gap-2 border-b border-line bg-sunken px-4 py-1.5">
        <h2 className="min-w-0 truncate font-semibold">
          {server === undefined ? (
            "Own tools"
          ) : (
            <TextLink {...stop} to="/servers/{-$server}" params={{ server }}>
              <Text>{server}</Text>
            </TextLink>
          )}
        </h2>
        <span className="tabular text-ink-3">{number(tools.length)}</span>
        <span className="ml-auto flex items-center gap-2">
          {health !== undefined && health.status !== "connected" && (
            <Badge tone={serverTones[health.status]}>{health.status}</Badge>
          )}
          {server !== undefined && <BrakeButton kind="server" name={server} />}
        </span>
      </header>
      {health?.problem !== undefined && (
        <p className="line-clamp-3 border-b border-line bg-surface px-4 py-2 text-critical">
          <Text>{withCommandName(health.problem)}</Text>
        </p>
      )}
    </>
  );
}

const serverTones = { connecting: "medium", disconnected: "critical", idle: "neutral" } as const;

/** Why it cannot be called, in a word. */
function problemOf({ isOff, actions: [first] }: Tool): string | undefined {
  if (isOff) return "off";
  if (first?.blocked === "changed") return "changed";
  if (first?.blocked !== undefined) return "not approved";
  if (first?.unavailable !== undefined) return "unavailable";
  return first?.health?.status === "degraded" ? "degraded" : undefined;
}

function ToolRow({ tool }: { readonly tool: Tool }): ReactNode {
  const { name, server, statistics, verdict } = tool;
  const problem = problemOf(tool);
  const sum = (count: "calls" | "errors" | "unknown" | "refused" | "asked"): number =>
    statistics.reduce((total, one) => total + one[count], 0);
  const [calls, errors, refused, asked] = [sum("calls"), sum("errors") - sum("unknown"), sum("refused"), sum("asked")];
  const p95 = Math.max(0, ...statistics.map(({ p95_ms }) => p95_ms ?? 0));
  const prefix = `${server ?? ""}__`;
  return (
    <>
      <span className="flex items-center gap-2">
        <Text className={classNames("min-w-0 truncate font-medium", tool.isOff && "text-ink-3 line-through")}>
          {name.startsWith(prefix) ? name.slice(prefix.length) : name}
        </Text>
        <span className="ml-auto flex shrink-0 items-center gap-1.5">
          {problem !== undefined && <Badge tone={problem === "degraded" ? "medium" : "critical"}>{problem}</Badge>}
          <RiskBadge risk={riskOf(tool)} />
        </span>
      </span>
      <span className="tabular flex items-center gap-3 text-[0.9286rem] text-ink-3">
        {calls + refused + asked === 0 && "not called in the last 24 hours"}
        {calls > 0 && <span>{counted(calls, "call")}</span>}
        {errors > 0 && <span className="text-critical">{number(errors)} failed</span>}
        {calls > 0 && <span>p95 {duration(p95)}</span>}
        {asked > 0 && <span>{number(asked)} needed approval</span>}
        {refused > 0 && <span>{number(refused)} refused</span>}
        {verdict !== undefined && (
          <span className="ml-auto">
            <Verdict verdict={verdict} />
          </span>
        )}
      </span>
    </>
  );
}
