import type { Chain, TimelineCall } from "@postern/core/contract";
import { memo, type ReactNode } from "react";
import {
  classNames,
  duration,
  Facts,
  Hash,
  Icon,
  RiskBadge,
  StateBadge,
  save,
  stateWord,
  Text,
  TextLink,
  Time,
  ToolName,
  toast,
  useRowStop,
} from "../../kit/index.ts";
import { CallContent, CallLinks, Durations, RefusalLine } from "../call-content.tsx";
import { ProgressLine } from "../progress-line.tsx";
import { Script, WaitsAt } from "./script.tsx";
import { Unknown } from "./unknown.tsx";
import type { Part, Row, Scale, Segment } from "./waterfall.ts";

/** The tool that runs scripts. */
export const chainTool = "tool_chain";
/** The look of waiting for a person. */
export const hatched =
  "border border-accent bg-[repeating-linear-gradient(135deg,color-mix(in_srgb,var(--color-accent)_38%,transparent)_0_3px,transparent_3px_7px)]";

interface CallRowProps {
  readonly row: Row;
  readonly scale: Scale;
  /** Of a script that has not ended. */
  readonly chain: Chain | undefined;
  readonly isOpen: boolean;
  readonly onToggle: (callId: string) => void;
  readonly maySettle: boolean;
}

/** Name, time, length; on a phone one under the other. */
const columns = "gap-x-4 md:grid-cols-[minmax(14rem,20rem)_minmax(0,1fr)_5.5rem]";

/** One call: its name, its time, and its details when it is opened. */
export const CallRow = memo(function CallRow(props: CallRowProps): ReactNode {
  const { row, scale, chain, isOpen, onToggle, maySettle } = props;
  const { call, depth } = row;
  const stop = useRowStop();
  return (
    <div className={classNames("border-b border-line", isOpen && "bg-sunken")}>
      <button
        type="button"
        {...stop}
        aria-expanded={isOpen}
        onClick={() => onToggle(call.call_id)}
        className={classNames("grid w-full items-center gap-y-1.5 px-4 py-2 text-left hover:bg-hover", columns)}
      >
        <span className="flex min-w-0 items-center gap-2" style={{ paddingLeft: `${Math.min(depth, 6) * 16}px` }}>
          <span className="shrink-0 text-ink-3">
            <Icon name={isOpen ? "down" : "right"} size={12} />
          </span>
          <span className="min-w-0 truncate">
            <ToolName tool={call.tool} action={call.action} className="font-medium" />
            {call.line !== undefined && <span className="mono text-ink-3"> line {call.line}</span>}
            {chain !== undefined && <WaitsAt chain={chain} />}
          </span>
          <span className="ml-auto flex shrink-0 items-center gap-2">
            {call.artifacts.length > 0 && (
              <span className="tabular inline-flex items-center gap-1 text-ink-3">
                <Icon name="download" size={12} /> {call.artifacts.length}
                <span className="sr-only">{call.artifacts.length === 1 ? "artifact" : "artifacts"}</span>
              </span>
            )}
            <span className="tabular text-[0.9286rem] text-ink-2 md:hidden">{spent(row)}</span>
            <StateBadge state={stateOf(call)} />
          </span>
        </span>
        <Track row={row} scale={scale} />
        <span className="tabular text-right text-[0.9286rem] text-ink-2 max-md:hidden">{spent(row)}</span>
      </button>
      {call.state === "attempted" && (
        <div className={classNames("grid px-4 pb-2 empty:hidden", columns)}>
          <ProgressLine callId={call.call_id} tool={call.tool} className="md:col-start-2" />
        </div>
      )}
      {isOpen && <Details row={row} chain={chain} maySettle={maySettle} />}
    </div>
  );
});

function stateOf({ state, code, approval }: TimelineCall): string {
  if (state === "held" && approval?.status === "approved") return "ready";
  return code === "timed_out" ? "timeout" : state;
}

function spent({ call, runningMs, waitingMs }: Row): string {
  if (call.started_at !== undefined) return duration(runningMs);
  return waitingMs > 0 ? duration(waitingMs) : "–";
}

const words: Readonly<Record<Part, string>> = {
  gates: "at the gates",
  person: "waiting for approval",
  decided: "decided, not yet run",
  running: "executing",
};

function Track({ row: { segments, call }, scale }: Readonly<{ row: Row; scale: Scale }>): ReactNode {
  const wordsFor = ({ part, from, to }: Segment): string => `${words[part]} ${duration(to - from)}`;
  return (
    <span role="img" aria-label={segments.map(wordsFor).join(", ")} className="relative block h-4 w-full">
      <span aria-hidden="true" className="absolute inset-x-0 top-1/2 border-t border-line" />
      {segments.map((segment) => {
        const from = scale.place(segment.from) * 100;
        const width = scale.place(segment.to) * 100 - from;
        return (
          <span
            key={`${segment.part} ${segment.from}`}
            title={wordsFor(segment)}
            className={classNames("absolute rounded-sm", lookOf(segment, call), segment.isOpen && "animate-breathe")}
            style={{ left: `min(${from}%, calc(100% - 4px))`, width: `max(${width}%, 3px)` }}
          />
        );
      })}
    </span>
  );
}

const outcomes = new Map([
  ["ok", "bg-safe"],
  ["failed", "bg-critical"],
  ["denied", "bg-high"],
  [
    "unknown",
    "border border-medium bg-[repeating-linear-gradient(45deg,var(--color-medium)_0_3px,var(--color-medium-tint)_3px_6px)]",
  ],
]);

function lookOf({ part }: Segment, { state }: TimelineCall): string {
  switch (part) {
    case "gates":
      return classNames("top-[7px] h-0.5", state === "refused" || state === "denied" ? "bg-high" : "bg-line-strong");
    case "person":
      return classNames("top-0.5 h-3", hatched);
    case "decided":
      return "top-[7px] h-0.5 bg-accent";
    case "running":
      return classNames("top-0.5 h-3", outcomes.get(state) ?? "bg-ink-2");
  }
}

type DetailsProps = Readonly<{ row: Row; chain: Chain | undefined; maySettle: boolean }>;

function Details({ row, chain, maySettle }: DetailsProps): ReactNode {
  const { call } = row;
  return (
    <div className="grid gap-4 px-4 pt-1 pb-4 md:pl-9">
      {call.message !== undefined && <RefusalLine code={call.code} message={call.message} />}
      {stateOf(call) === "ready" && <p>A person approved it. It runs when its agent sends the same call again.</p>}
      {call.state === "unknown" && <Unknown call={call} maySettle={maySettle} />}
      {(call.tool === chainTool || row.isScript) && <Script call={call} chain={chain} />}
      {call.tool === chainTool || call.state === "refused" ? ( // a script is its input; of a refused call it is not kept
        <Durations of={call.durations} />
      ) : (
        <CallContent callId={call.call_id} on="row" />
      )}
      <CallFacts row={row} />
      <Artifacts call={call} />
      <p className="flex flex-wrap gap-4">
        {call.state === "refused" ? ( // its arguments are not kept
          <TextLink to="/audit/{-$event}" params={{ event: undefined }} search={{ call_id: call.call_id }}>
            Its events in the audit log
          </TextLink>
        ) : (
          <CallLinks call={call} />
        )}
      </p>
    </div>
  );
}

function CallFacts({ row: { call, waitingMs, runningMs } }: { readonly row: Row }): ReactNode {
  const { approval } = call;
  return (
    <Facts
      rows={{
        Call: <Hash value={call.call_id} label="call id" />,
        Risk: call.risk_level && <RiskBadge risk={call.risk_level} />,
        Agent: call.agent && <Text>{call.agent}</Text>,
        Arrived: <Time at={call.arrived_at} />,
        Asked: approval && (
          <>
            <Time at={approval.asked_at} />, waited {duration(waitingMs)} ·{" "}
            <TextLink to="/approvals/{-$request}" params={{ request: approval.approval_id }}>
              the request
            </TextLink>
          </>
        ),
        Decided: approval?.decided_at && (
          <>
            <Time at={approval.decided_at} />, {stateWord(approval.decided_as ?? "")} by{" "}
            <Text>{approval.decided_by}</Text>
          </>
        ),
        Executed: call.started_at && (
          <>
            <Time at={call.started_at} />
            {call.ended_at === undefined ? "" : `, for ${duration(runningMs)}`}
          </>
        ),
      }}
    />
  );
}

/** Each saves its file. The bytes of a tool are never shown in this page. */
function Artifacts({ call }: { readonly call: TimelineCall }): ReactNode {
  if (call.artifacts.length === 0) return null;
  const owner = new URLSearchParams();
  if (call.agent !== undefined) owner.set("agent", call.agent);
  if (call.user !== undefined) owner.set("user", call.user);
  const download = (digest: string, name: string | undefined): void =>
    void save(`/v1/artifacts/${digest}?${owner}`, fileName(name, digest)).catch(({ message }: Error) =>
      toast(message, "bad"),
    );
  return (
    <ul aria-label="Artifacts" className="flex flex-wrap gap-2">
      {call.artifacts.map(({ digest, media_type, name }) => (
        <li key={digest}>
          <button
            type="button"
            onClick={() => download(digest, name)}
            className="inline-flex max-w-72 items-center gap-1.5 rounded-full border border-line-strong bg-surface px-2.5 py-1 hover:bg-hover"
          >
            <Icon name="download" size={13} />
            <Text className="truncate">{name ?? digest.slice(0, 12)}</Text>
            {media_type !== undefined && <Text className="text-ink-3">{media_type}</Text>}
          </button>
        </li>
      ))}
    </ul>
  );
}

/** A tool chose the name: only characters that are harmless in every file system are kept. */
function fileName(name: string | undefined, digest: string): string {
  const last = (name ?? "").split("/").at(-1) ?? "";
  const plain = last.replaceAll(/[^\w.-]+/g, "_").replace(/^\.+/, "");
  return plain === "" ? digest.slice(0, 16) : plain.slice(0, 100);
}
