import { type Risk, rankOf } from "@postern/core";
import type {
  ActionStatisticsView,
  ControlsView,
  EffectiveLineView,
  ServerHealth,
  ToolView as ToolAction,
} from "@postern/core/contract";
import { keepPreviousData } from "@tanstack/react-query";
import { useMemo } from "react";
import type { RangeName } from "../../address.ts";
import { serverNow, useAnswer, useControls, useMay } from "../../api/index.ts";

/** A tool with all its actions: they share its health, its switch and its definition. */
export interface Tool {
  readonly name: string;
  readonly server: string | undefined;
  readonly actions: readonly ToolAction[];
  readonly statistics: readonly ActionStatisticsView[];
  /** The verdict on a call by default; `depends` on its action or its arguments. Undefined until it is known. */
  readonly verdict: string | undefined;
  /** Switched off by an operator. */
  readonly isOff: boolean;
}

/** The tools of one server, or of Postern itself. */
export interface Group {
  readonly server: string | undefined;
  readonly health: ServerHealth | undefined;
  readonly tools: readonly Tool[];
}

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;

/** What numbers are about: so many periods, the last of which has begun. */
export const ranges = {
  hour: { word: "last hour", unit: "a minute", count: 60, eachMs: 60_000, every: "hour" },
  day: { word: "last 24 hours", unit: "an hour", count: 24, eachMs: hourMs, every: "hour" },
  week: { word: "last 7 days", unit: "a day", count: 7, eachMs: dayMs, every: "day" },
  month: { word: "last 30 days", unit: "a day", count: 30, eachMs: dayMs, every: "day" },
} as const satisfies Readonly<Record<RangeName, object>>;

/** Of all gateways on the store, also before the last start. The first hour of the range counts whole. */
export function useStatistics(range: RangeName, enabled = true) {
  const { count, eachMs, every } = ranges[range];
  const from = String((Math.floor(serverNow() / eachMs) - count + 1) * eachMs);
  return useAnswer(
    "GET /v1/statistics",
    { from, every },
    { enabled, refetchInterval: 30_000, placeholderData: keepPreviousData },
  );
}

export function useTools(): {
  readonly groups: readonly Group[] | undefined;
  readonly error: unknown;
  readonly again: () => void;
} {
  const may = useMay();
  const tools = useAnswer("GET /v1/tools", {});
  const health = useAnswer("GET /v1/health", {});
  const statistics = useStatistics("day", may("controls:read"));
  const controls = useControls();
  const policy = useAnswer("GET /v1/policy", { agent: "local-agent" }, { enabled: may("policy:read") });
  const groups = useMemo(() => {
    const known = { statistics: statistics.data?.tools, controls, lines: policy.data?.lines ?? undefined };
    return tools.data && groupsOf(tools.data.tools, health.data?.servers ?? [], known);
  }, [tools.data, health.data, statistics.data, controls, policy.data]);
  return { groups, error: tools.error, again: () => void tools.refetch() };
}

interface Known {
  readonly statistics: readonly ActionStatisticsView[] | undefined;
  readonly controls: ControlsView | undefined;
  readonly lines: readonly EffectiveLineView[] | undefined;
}

function verdictOf(lines: readonly EffectiveLineView[]): string | undefined {
  const verdicts = new Set(lines.map(({ verdict, depends }) => (depends.length > 0 ? "depends" : verdict)));
  const [only] = verdicts;
  return verdicts.size > 1 ? "depends" : only;
}

function groupsOf(
  actions: readonly ToolAction[],
  servers: readonly ServerHealth[],
  { statistics = [], controls, lines = [] }: Known,
): readonly Group[] {
  const linesOf = Map.groupBy(lines, ({ tool }) => tool);
  const statisticsOf = Map.groupBy(statistics, ({ tool }) => tool);
  const actionsOf = Map.groupBy(actions, ({ server }) => server);
  const names = [...new Set([...servers.map(({ name }) => name), ...actionsOf.keys()])];
  // Postern's own tools are last. The health of servers comes later than their tools, and must not move them.
  const place = (server: string | undefined): string => server ?? "\u{10ffff}";
  return names
    .sort((one, other) => place(one).localeCompare(place(other), "en"))
    .map((server) => ({
      server,
      health: servers.find(({ name }) => name === server),
      tools: [...Map.groupBy(actionsOf.get(server) ?? [], ({ tool }) => tool)].map(([name, own]) => ({
        name,
        server,
        actions: own,
        verdict: verdictOf(linesOf.get(name) ?? []),
        statistics: statisticsOf.get(name) ?? [],
        isOff: controls?.off_tools.includes(name) === true,
      })),
    }));
}

/** The highest of its actions. */
export function riskOf({ actions }: Tool): Risk {
  return actions.reduce<Risk>((worst, { risk }) => (rankOf(risk) > rankOf(worst) ? risk : worst), "safe");
}
