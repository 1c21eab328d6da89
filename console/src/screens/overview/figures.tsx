/** Calls and decisions of a range, each number with a link to the list that it counts. */
import type { CallState } from "@postern/core";
import type { StatisticsView } from "@postern/core/contract";
import type { ReactNode } from "react";
import type { AuditAddress, RangeName } from "../../address.ts";
import { serverNow, useMay } from "../../api/index.ts";
import {
  type Bar,
  Bars,
  CallsLink,
  type Column,
  EmptyState,
  maybeDuration,
  number,
  type Series,
  stateWord,
  Table,
  Text,
  TextLink,
} from "../../kit/index.ts";
import { ranges } from "../tools/use-tools.ts";

const outcomes = ["ok", "refused", "asked", "previewed", "unknown", "failed"] as const;
const tones = ["safe", "high", "accent", "neutral", "medium", "critical"] as const;
const words = { asked: "needs approval", previewed: "preview" } as const;
const series: readonly Series[] = outcomes.map((name, at) => ({
  name: name === "asked" || name === "previewed" ? words[name] : stateWord(name),
  tone: tones[at] ?? "neutral",
}));
type CallsOverTimeProps = Readonly<{ statistics: StatisticsView; range: RangeName }>;

export function CallsOverTime({ statistics, range }: CallsOverTimeProps): ReactNode {
  const bars = barsOf(statistics, range);
  const { unit, word } = ranges[range];
  const total = bars.flatMap(({ values }) => values).reduce((sum, one) => sum + one, 0);
  if (total === 0) return <EmptyState icon="overview" title={`No call in the ${word}`} />;
  return <Bars label={`Calls ${unit} by outcome: ${number(total)} in the ${word}`} series={series} bars={bars} />;
}

/** Every period of the range, those without a call too. */
function barsOf({ minutes, periods }: StatisticsView, range: RangeName): readonly Bar[] {
  const { count, eachMs } = ranges[range];
  const found = new Map(
    (range === "hour" ? minutes : periods).map((one) => [Math.floor(Date.parse(one.at) / eachMs), one]),
  );
  const last = Math.floor(serverNow() / eachMs);
  const format: Intl.DateTimeFormatOptions =
    eachMs < 86_400_000
      ? { hour: "2-digit", minute: "2-digit", ...(range === "day" && { weekday: "short" }) }
      : { day: "numeric", month: "short", timeZone: "UTC" };
  return Array.from({ length: count }, (_, at) => {
    const period = last - count + 1 + at;
    const name = new Date(period * eachMs).toLocaleString("en-GB", format);
    return { name, values: outcomes.map((outcome) => found.get(period)?.[outcome] ?? 0) };
  });
}

/** Where a number leads: to calls in this state, or to these events of the log. */
type List = Readonly<{ state?: CallState; events?: string }>;
type Where = Partial<Pick<AuditAddress, "tool" | "agent" | "by" | "since">>;

function Counted({ value, state, events: type, by, since, ...where }: List & Where & { readonly value: number }) {
  const mayAudit = useMay()("audit:read");
  const [text, request] = [number(value), { event: undefined }];
  if (value === 0) return "–";
  if (type === undefined) return <CallsLink {...{ state, since, ...where }}>{text}</CallsLink>;
  if (!mayAudit) return text;
  return (
    <TextLink {...{ to: "/audit/{-$event}", params: request, search: { ...where, type, by, since } }}>{text}</TextLink>
  );
}

const counts = {
  calls: ["Ran", { events: "tool_call.succeeded,tool_call.failed,tool_call.unknown" }],
  asked: ["Needed approval", { events: "gate.required" }],
  errors: ["Failed", { state: "failed" }],
  unknown: ["Unknown", { state: "unknown" }],
  refused: ["Blocked", { events: "gate.blocked,gate.antiflap_block,gate.storm_block,tool_call.refused" }],
  approved: ["Approved", { events: "gate.approved,gate.modified" }],
  denied: ["Denied", { events: "gate.denied" }],
  skipped: ["Skipped", { events: "gate.skipped" }],
  expired: ["Expired", { events: "gate.expired" }],
  withdrawn: ["Withdrawn", { events: "gate.withdrawn" }],
} as const satisfies Readonly<Record<string, readonly [name: string, List]>>;
type Count = keyof typeof counts;

/** Of a tool, an agent or a person who decides. */
type Line = Readonly<Partial<Record<Count | "p50_ms" | "p95_ms", number>>> &
  Readonly<{ tool?: string; action?: string; agent?: string; decider?: string }>;

/** Of the errors, those whose outcome is unknown have a column of their own. */
function countIn(line: Line, count: Count): number {
  return (line[count] ?? 0) - (count === "errors" ? (line.unknown ?? 0) : 0);
}

function Name({ tool, agent, decider }: Line): ReactNode {
  const text = <Text>{tool ?? agent ?? decider ?? ""}</Text>;
  if (agent !== undefined) return <CallsLink agent={agent}>{text}</CallsLink>;
  return tool === undefined ? text : <TextLink {...{ to: "/tools/{-$tool}", params: { tool } }}>{text}</TextLink>;
}

type LineTableProps = Readonly<{
  of: "Tool" | "Agent" | "By";
  label: string;
  lines: readonly Line[];
  since: string;
  nothing: string;
}>;

const ofCalls = ["calls", "asked", "errors", "unknown", "refused"] as const;
const ofDecisions = ["approved", "denied", "skipped"] as const;
const alwaysShown: ReadonlySet<Count> = new Set(["calls", "errors", "approved", "denied"]);

/** The busiest first. */
export function LineTable({ of, label, lines, since, nothing }: LineTableProps): ReactNode {
  if (lines.length === 0) return <EmptyState icon="tools" title={nothing} />;
  const arrivals = ({ calls = 0, refused = 0, asked = 0, approved = 0 }: Line): number =>
    calls + refused + asked + approved;
  const columns: readonly Column<Line>[] = [
    { name: of, cell: (line) => <Name {...line} /> },
    ...(of === "By" ? ofDecisions : ofCalls).map(
      (count): Column<Line> => ({
        ...{ name: counts[count][0], align: "right", wide: !alwaysShown.has(count) },
        cell: ({ tool, agent, decider: by, ...line }) => (
          <Counted value={countIn(line, count)} {...counts[count][1]} {...{ tool, agent, by, since }} />
        ),
      }),
    ),
    { name: "Half within", align: "right", wide: true, cell: ({ p50_ms }) => maybeDuration(p50_ms) },
    { name: "95 % within", align: "right", cell: ({ p95_ms }) => maybeDuration(p95_ms) },
  ];
  const busiest = [...lines].sort((a, b) => arrivals(b) - arrivals(a)).slice(0, 10);
  const keyOf = ({ tool, action, agent, decider }: Line): string => JSON.stringify([tool, action, agent, decider]);
  return <Table label={label} rows={busiest} keyOf={keyOf} columns={columns} />;
}

type DecisionsProps = Readonly<{ statistics: StatisticsView; during: string }>;

/** How requests ended, and how long agents waited for a person. */
export function Decisions({ statistics: { decisions, deciders, from }, during }: DecisionsProps): ReactNode {
  const ends = [...ofDecisions, "expired", "withdrawn"] as const;
  const given = ends.filter((end) => decisions[end] > 0);
  if (given.length === 0) return <EmptyState icon="clock" title={`No decision ${during}`} />;
  const { p50_ms: half, p95_ms: most } = decisions;
  return (
    <>
      <p>
        {given.map((end, at) => (
          <span key={end}>
            {at > 0 && ", "}
            <Counted value={decisions[end]} {...counts[end][1]} since={from} /> {end}
          </span>
        ))}
        .{half !== undefined && ` Half of the decisions came within ${maybeDuration(half)}, `}
        {half !== undefined && `95 % within ${maybeDuration(most)}.`}
      </p>
      {deciders.length > 0 && <LineTable of="By" label="Who decided" lines={deciders} since={from} nothing="" />}
    </>
  );
}
