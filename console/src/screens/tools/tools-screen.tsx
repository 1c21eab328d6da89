import { Link, useParams } from "@tanstack/react-router";
import { type ReactNode, useState } from "react";
import { typed } from "../../api/typed.ts";
import { Badge, RiskBadge } from "../../kit/badge.tsx";
import { classNames } from "../../kit/class-names.ts";
import { SearchField } from "../../kit/search-field.tsx";
import { EmptyState, NotYet } from "../../kit/states.tsx";
import { Text } from "../../kit/text.tsx";
import { duration } from "../../kit/time.tsx";
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

function ToolList({
  groups,
  chosen,
}: {
  readonly groups: readonly Group[];
  readonly chosen: string | undefined;
}): ReactNode {
  const [words, setWords] = useState("");
  const isWanted = ({ name, server, actions }: Tool): boolean =>
    [name, server, ...actions.map(({ description }) => description)]
      .join(" ")
      .toLowerCase()
      .includes(words.toLowerCase());
  const shown = groups
    .map((group) => ({ ...group, tools: group.tools.filter(isWanted) }))
    .filter(({ tools, server }) => tools.length > 0 || (words === "" && server !== undefined));
  return (
    <div className="flex h-full min-h-0 flex-col">
      <SearchField label="Search tools" placeholder="Name, server or description" words={words} onChange={setWords} />
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard */}
      <section aria-label="Tools" tabIndex={0} className="min-h-0 flex-1 overflow-y-auto">
        {shown.length === 0 && <EmptyState icon="tools" title={words === "" ? "No tools yet" : "No tool matches"} />}
        {shown.map((group) => (
          <GroupList key={group.server ?? ""} group={group} chosen={chosen} />
        ))}
      </section>
    </div>
  );
}

function GroupList({ group, chosen }: { readonly group: Group; readonly chosen: string | undefined }): ReactNode {
  const { server, health, tools, isOff } = group;
  return (
    <section aria-label={server ?? "Own tools"}>
      <header className="sticky top-0 z-10 flex min-h-10 items-center gap-2 border-b border-line bg-sunken px-4 py-1.5">
        <h2 className="min-w-0 truncate font-semibold">{server === undefined ? "Own tools" : <Text>{server}</Text>}</h2>
        <span className="tabular text-ink-3">{tools.length}</span>
        <span className="ml-auto flex items-center gap-2">
          {health !== undefined && health.status !== "connected" && (
            <Badge tone={health.status === "connecting" ? "medium" : "critical"}>{health.status}</Badge>
          )}
          {server !== undefined && <ServerSwitch server={server} isOff={isOff} />}
        </span>
      </header>
      {health?.problem !== undefined && (
        <p className="border-b border-line px-4 py-2 text-critical">
          <Text>{typed(health.problem)}</Text>
        </p>
      )}
      {tools.map((tool) => (
        <ToolRow key={tool.name} tool={tool} isChosen={tool.name === chosen} />
      ))}
    </section>
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

function intoSight(row: HTMLElement | null): void {
  row?.scrollIntoView({ block: "nearest" });
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
      ref={isChosen ? intoSight : undefined}
      className={classNames(
        "grid scroll-mt-10 gap-1 border-b border-line px-4 py-2 -outline-offset-2",
        isChosen ? "bg-accent-tint" : "hover:bg-hover",
      )}
    >
      <span className="flex items-center gap-2">
        <Text className={classNames("min-w-0 truncate font-medium", tool.isOff && "text-ink-3 line-through")}>
          {shortName(tool)}
        </Text>
        <span className="ml-auto flex shrink-0 items-center gap-1.5">
          {problem !== undefined && <Badge tone={problem === "degraded" ? "medium" : "critical"}>{problem}</Badge>}
          {tool.verdict !== undefined && <Verdict verdict={tool.verdict} />}
          <RiskBadge risk={riskOf(tool)} />
        </span>
      </span>
      <span className="tabular flex gap-3 text-[0.9286rem] text-ink-3">
        {calls === 0 && refused === 0 && "not called since the start"}
        {calls > 0 && (
          <>
            <span>
              {calls.toLocaleString("en")} call{calls === 1 ? "" : "s"}
            </span>
            {errors > 0 && <span className="text-critical">{errors} failed</span>}
            <span>p95 {duration(p95)}</span>
          </>
        )}
        {refused > 0 && <span>{refused} refused</span>}
      </span>
    </Link>
  );
}

/** Under its server's heading a tool needs not say the server again. */
function shortName({ name, server }: Tool): string {
  return server !== undefined && name.startsWith(`${server}__`) ? name.slice(server.length + 2) : name;
}
