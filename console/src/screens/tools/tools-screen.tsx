import { Link, useParams } from "@tanstack/react-router";
import { type ReactNode, useMemo, useState } from "react";
import { typed } from "../../api/typed.ts";
import { Badge, RiskBadge } from "../../kit/badge.tsx";
import { classNames } from "../../kit/class-names.ts";
import { SearchField } from "../../kit/search-field.tsx";
import { EmptyState, NotYet } from "../../kit/states.tsx";
import { Text } from "../../kit/text.tsx";
import { duration } from "../../kit/time.tsx";
import { VirtualList } from "../../kit/virtual-list.tsx";
import { Verdict } from "../policy/verdict.tsx";
import { SplitView } from "../split-view.tsx";
import { ServerSwitch } from "./switches.tsx";
import { ToolDetail } from "./tool-detail.tsx";
import { type Group, riskOf, type Tool, useTools } from "./use-tools.ts";

export function ToolsScreen(): ReactNode {
  const { id } = useParams({ strict: false });
  const { groups, since, error, again } = useTools();
  if (groups === undefined) return <NotYet error={error} again={again} rows={10} />;
  const chosen = groups.flatMap(({ tools }) => tools).find(({ name }) => name === id);
  return (
    <SplitView
      home="/tools"
      back="All tools"
      nothing={
        <EmptyState icon="tools" title="Choose a tool">
          Its risk and who says so, how it does, its definition, and a way to try it.
        </EmptyState>
      }
      list={<ToolList groups={groups} chosen={id} />}
      detail={
        id === undefined ? undefined : chosen === undefined ? (
          <EmptyState icon="tools" title="This tool is not offered any more" />
        ) : (
          <ToolDetail key={id} tool={chosen} since={since} />
        )
      }
    />
  );
}

/** A server's heading, or one of its tools. */
type Row = { readonly group: Group; readonly tool?: never } | { readonly tool: Tool; readonly group?: never };

function isHead({ group }: Row): boolean {
  return group !== undefined;
}

function keyOf({ group, tool }: Row): string {
  return tool === undefined ? `server ${group.server ?? ""}` : tool.name;
}

function rowsOf(groups: readonly Group[], words: string): readonly Row[] {
  const wanted = words.toLowerCase();
  const isWanted = ({ name, server, actions }: Tool): boolean =>
    [name, server, ...actions.map(({ description }) => description)].join(" ").toLowerCase().includes(wanted);
  return groups.flatMap((group) => {
    const tools = group.tools.filter(isWanted);
    const isShown = tools.length > 0 || (words === "" && group.server !== undefined);
    return isShown ? [{ group: { ...group, tools } }, ...tools.map((tool) => ({ tool }))] : [];
  });
}

function ToolList({
  groups,
  chosen,
}: {
  readonly groups: readonly Group[];
  readonly chosen: string | undefined;
}): ReactNode {
  const [words, setWords] = useState("");
  const rows = useMemo(() => rowsOf(groups, words), [groups, words]);
  return (
    <div className="flex h-full min-h-0 flex-col">
      <SearchField label="Search tools" placeholder="Name, server or description" words={words} onChange={setWords} />
      {rows.length === 0 && <EmptyState icon="tools" title={words === "" ? "No tools yet" : "No tool matches"} />}
      {rows.length > 0 && (
        <div className="min-h-0 flex-1">
          <VirtualList
            label="Tools"
            rows={rows}
            keyOf={keyOf}
            isHead={isHead}
            estimate={60}
            selected={rows.findIndex(({ tool }) => tool !== undefined && tool.name === chosen)}
            row={({ group, tool }) =>
              tool === undefined ? <GroupHead group={group} /> : <ToolRow tool={tool} isChosen={tool.name === chosen} />
            }
          />
        </div>
      )}
    </div>
  );
}

function GroupHead({ group: { server, health, tools, isOff } }: { readonly group: Group }): ReactNode {
  return (
    <>
      <header className="flex min-h-10 items-center gap-2 border-b border-line bg-sunken px-4 py-1.5">
        <h2 className="min-w-0 truncate font-semibold">{server === undefined ? "Own tools" : <Text>{server}</Text>}</h2>
        <span className="tabular text-ink-3">{tools.length.toLocaleString("en")}</span>
        <span className="ml-auto flex items-center gap-2">
          {health !== undefined && health.status !== "connected" && (
            <Badge tone={health.status === "connecting" ? "medium" : "critical"}>{health.status}</Badge>
          )}
          {server !== undefined && <ServerSwitch server={server} isOff={isOff} />}
        </span>
      </header>
      {health?.problem !== undefined && (
        <p className="line-clamp-3 border-b border-line bg-surface px-4 py-2 text-critical">
          <Text>{typed(health.problem)}</Text>
        </p>
      )}
    </>
  );
}

/** What stands in the way of a call, in a word. */
function hindrance({ isOff, actions }: Tool): string | undefined {
  const [first] = actions;
  if (isOff) return "off";
  if (first?.blocked === "changed") return "changed";
  if (first?.blocked !== undefined) return "not approved";
  if (first?.unavailable !== undefined) return "unavailable";
  return first?.health?.status === "degraded" ? "degraded" : undefined;
}

function ToolRow({ tool, isChosen }: { readonly tool: Tool; readonly isChosen: boolean }): ReactNode {
  const problem = hindrance(tool);
  const calls = tool.statistics.reduce((sum, one) => sum + one.calls, 0);
  const errors = tool.statistics.reduce((sum, one) => sum + one.errors, 0);
  const refused = tool.statistics.reduce((sum, one) => sum + one.refused, 0);
  const p95 = Math.max(0, ...tool.statistics.map(({ p95_ms }) => p95_ms ?? 0));
  return (
    <Link
      to={`/tools/${encodeURIComponent(tool.name)}`}
      aria-current={isChosen ? "true" : undefined}
      className={classNames(
        "grid gap-1 border-b border-line px-4 py-2 -outline-offset-2",
        isChosen ? "bg-accent-tint" : "hover:bg-hover",
      )}
    >
      <span className="flex items-center gap-2">
        <Text className={classNames("min-w-0 truncate font-medium", tool.isOff && "text-ink-3 line-through")}>
          {shortName(tool)}
        </Text>
        <span className="ml-auto flex shrink-0 items-center gap-1.5">
          {problem !== undefined && <Badge tone={problem === "degraded" ? "medium" : "critical"}>{problem}</Badge>}
          <RiskBadge risk={riskOf(tool)} />
        </span>
      </span>
      <span className="tabular flex items-center gap-3 text-[0.9286rem] text-ink-3">
        {calls === 0 && refused === 0 && "not called since the start"}
        {calls > 0 && (
          <>
            <span>
              {calls.toLocaleString("en")} call{calls === 1 ? "" : "s"}
            </span>
            {errors > 0 && <span className="text-critical">{errors.toLocaleString("en")} failed</span>}
            <span>p95 {duration(p95)}</span>
          </>
        )}
        {refused > 0 && <span>{refused.toLocaleString("en")} refused</span>}
        {tool.verdict !== undefined && (
          <span className="ml-auto">
            <Verdict verdict={tool.verdict} />
          </span>
        )}
      </span>
    </Link>
  );
}

/** Under its server's heading a tool needs not say the server again. */
function shortName({ name, server }: Tool): string {
  return server !== undefined && name.startsWith(`${server}__`) ? name.slice(server.length + 2) : name;
}
