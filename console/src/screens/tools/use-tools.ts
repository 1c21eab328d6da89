import { useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import type { ControlsView } from "../../../../src/server/contract/controls.ts";
import type { EffectiveLineView, EffectivePolicyView } from "../../../../src/server/contract/policy.ts";
import type {
  ActionStatisticsView,
  HealthView,
  ServerHealth,
  Statistics,
  ToolView as ToolAction,
} from "../../../../src/server/contract/tools.ts";
import { get } from "../../api/client.ts";
import { useMay } from "../../api/session.ts";

/** A tool with all its actions: they share its health, its switch and its definition. */
export interface Tool {
  readonly name: string;
  readonly server: string | undefined;
  readonly actions: readonly ToolAction[];
  readonly statistics: readonly ActionStatisticsView[];
  /** What a call of it meets, by whoever calls by default; `depends`: on its action or its arguments. Undefined: not known. */
  readonly verdict: string | undefined;
  /** An operator's switch, not its server's. */
  readonly isOff: boolean;
}

/** Of what is offered together: a server, or this process. */
export interface Group {
  readonly server: string | undefined;
  readonly health: ServerHealth | undefined;
  readonly isOff: boolean;
  readonly tools: readonly Tool[];
}

export function useTools(): {
  readonly groups: readonly Group[] | undefined;
  readonly since: string | undefined;
  readonly error: unknown;
  readonly again: () => void;
} {
  const may = useMay();
  const isPerson = may("controls:read");
  const tools = useQuery({
    queryKey: ["live", "tools"],
    queryFn: () => get<{ readonly tools: readonly ToolAction[] }>("/v1/tools"),
  });
  const health = useQuery({
    queryKey: ["live", "health"],
    queryFn: () => get<HealthView>("/v1/health"),
  });
  const statistics = useQuery({
    queryKey: ["live", "statistics"],
    queryFn: () => get<Statistics>("/v1/statistics"),
    enabled: isPerson,
  });
  const controls = useQuery({
    queryKey: ["live", "controls"],
    queryFn: () => get<ControlsView>("/v1/controls"),
    enabled: isPerson,
  });
  const policy = useQuery({
    queryKey: ["live", "policy", "local-agent", ""],
    queryFn: () => get<EffectivePolicyView>("/v1/policy", { query: { agent: "local-agent" } }),
    enabled: may("policy:read"),
  });
  const groups = useMemo(() => {
    const known = {
      statistics: statistics.data?.tools,
      controls: controls.data,
      lines: policy.data?.lines ?? undefined,
    };
    return tools.data && groupsOf(tools.data.tools, health.data?.servers ?? [], known);
  }, [tools.data, health.data, statistics.data, controls.data, policy.data]);
  return {
    groups,
    since: statistics.data?.since,
    error: tools.error,
    again: () => void tools.refetch(),
  };
}

interface Known {
  readonly statistics: readonly ActionStatisticsView[] | undefined;
  readonly controls: ControlsView | undefined;
  readonly lines: readonly EffectiveLineView[] | undefined;
}

function verdictOf(own: readonly EffectiveLineView[]): string | undefined {
  const verdicts = new Set(own.map(({ verdict, depends }) => (depends.length > 0 ? "depends" : verdict)));
  const [only] = verdicts;
  return verdicts.size > 1 ? "depends" : only;
}

function groupsOf(
  actions: readonly ToolAction[],
  servers: readonly ServerHealth[],
  { statistics = [], controls, lines = [] }: Known,
): readonly Group[] {
  const byServer = new Map<string | undefined, Map<string, ToolAction[]>>();
  const linesOf = Map.groupBy(lines, ({ tool }) => tool);
  const statisticsOf = Map.groupBy(statistics, ({ tool }) => tool);
  for (const { name } of servers) byServer.set(name, new Map());
  for (const action of actions) {
    const tools = byServer.get(action.server) ?? new Map<string, ToolAction[]>();
    byServer.set(action.server, tools);
    tools.set(action.tool, [...(tools.get(action.tool) ?? []), action]);
  }
  const isOff = (list: readonly string[] | undefined, name: string): boolean => list?.includes(name) ?? false;
  const inOrder = [...byServer].sort(([one], [other]) => placeOf(one).localeCompare(placeOf(other), "en"));
  return inOrder.map(([server, tools]) => ({
    server,
    health: servers.find(({ name }) => name === server),
    isOff: server !== undefined && isOff(controls?.off_servers, server),
    tools: [...tools].map(([name, own]) => ({
      name,
      server,
      actions: own,
      verdict: verdictOf(linesOf.get(name) ?? []),
      statistics: statisticsOf.get(name) ?? [],
      isOff: isOff(controls?.off_tools, name),
    })),
  }));
}

/** By name, our own last: what is known of servers comes later than their tools, and moves none of them. */
function placeOf(server: string | undefined): string {
  return server ?? "\u{10ffff}";
}

/** The worst of its actions: what a tool is listed with. */
export function riskOf({ actions }: Tool): string {
  const levels = ["safe", "medium", "high", "critical"];
  return actions.reduce((worst, { risk }) => (levels.indexOf(risk) > levels.indexOf(worst) ? risk : worst), "safe");
}
