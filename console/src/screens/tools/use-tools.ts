import { useQuery } from "@tanstack/react-query";
import { get } from "../../api/client.ts";
import { useMay } from "../../api/session.ts";
import type { EffectiveLine, PolicyWire } from "../policy/wire.ts";
import type { ActionStatistics, ControlsWire, ServerHealth, StatisticsWire, ToolWire } from "./wire.ts";

/** A tool with all its actions: they share its health, its switch and its definition. */
export interface Tool {
  readonly name: string;
  readonly server: string | undefined;
  readonly actions: readonly ToolWire[];
  readonly statistics: readonly ActionStatistics[];
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
    queryFn: () => get<{ readonly tools: readonly ToolWire[] }>("/v1/tools"),
  });
  const health = useQuery({
    queryKey: ["live", "health"],
    queryFn: () => get<{ readonly servers: readonly ServerHealth[] }>("/v1/health"),
  });
  const statistics = useQuery({
    queryKey: ["live", "statistics"],
    queryFn: () => get<StatisticsWire>("/v1/statistics"),
    enabled: isPerson,
  });
  const controls = useQuery({
    queryKey: ["live", "controls"],
    queryFn: () => get<ControlsWire>("/v1/controls"),
    enabled: isPerson,
  });
  const policy = useQuery({
    queryKey: ["live", "policy", "local-agent", ""],
    queryFn: () => get<PolicyWire>("/v1/policy", { query: { agent: "local-agent" } }),
    enabled: may("policy:read"),
  });
  const known = { statistics: statistics.data?.tools ?? [], controls: controls.data, lines: policy.data?.lines ?? [] };
  return {
    groups: tools.data && groupsOf(tools.data.tools, health.data?.servers ?? [], known),
    since: statistics.data?.since,
    error: tools.error,
    again: () => void tools.refetch(),
  };
}

interface Known {
  readonly statistics: readonly ActionStatistics[];
  readonly controls: ControlsWire | undefined;
  readonly lines: readonly EffectiveLine[];
}

function verdictOf(name: string, lines: readonly EffectiveLine[]): string | undefined {
  const own = lines.filter(({ tool }) => tool === name);
  const verdicts = new Set(own.map(({ verdict, depends }) => (depends.length > 0 ? "depends" : verdict)));
  const [only] = verdicts;
  return verdicts.size > 1 ? "depends" : only;
}

function groupsOf(
  actions: readonly ToolWire[],
  servers: readonly ServerHealth[],
  { statistics, controls, lines }: Known,
): readonly Group[] {
  const byServer = new Map<string | undefined, Map<string, ToolWire[]>>();
  for (const { name } of servers) byServer.set(name, new Map());
  for (const action of actions) {
    const tools = byServer.get(action.server) ?? new Map<string, ToolWire[]>();
    byServer.set(action.server, tools);
    tools.set(action.tool, [...(tools.get(action.tool) ?? []), action]);
  }
  const isOff = (list: readonly string[] | undefined, name: string): boolean => list?.includes(name) ?? false;
  return [...byServer].map(([server, tools]) => ({
    server,
    health: servers.find(({ name }) => name === server),
    isOff: server !== undefined && isOff(controls?.off_servers, server),
    tools: [...tools].map(([name, own]) => ({
      name,
      server,
      actions: own,
      verdict: verdictOf(name, lines),
      statistics: statistics.filter(({ tool }) => tool === name),
      isOff: isOff(controls?.off_tools, name),
    })),
  }));
}

/** The worst of its actions: what a tool is listed with. */
export function riskOf({ actions }: Tool): string {
  const levels = ["safe", "medium", "high", "critical"];
  return actions.reduce((worst, { risk }) => (levels.indexOf(risk) > levels.indexOf(worst) ? risk : worst), "safe");
}
