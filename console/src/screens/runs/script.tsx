import type { Chain, TimelineCall } from "@postern/core/contract";
import type { ReactNode } from "react";
import { useAnswer } from "../../api/index.ts";
import {
  classNames,
  Notice,
  NotYet,
  number,
  Part,
  Preformatted,
  StateBadge,
  Text,
  TextLink,
  Time,
  useFirst,
} from "../../kit/index.ts";

/** In the row of a frozen script: the line it waits in. */
export function WaitsAt({ chain: { waiting } }: { readonly chain: Chain }): ReactNode {
  const [first] = waiting;
  if (first === undefined) return null;
  return (
    <span className="text-accent">
      {first.line === undefined ? " waits" : ` waits in line ${first.line}`}
      {waiting.length > 1 && ` and ${waiting.length - 1} more`}
    </span>
  );
}

const languages = new Map<unknown, string>([
  ["javascript", "in JavaScript"],
  ["typescript", "in TypeScript"],
  ["python", "in Python"],
]);

/** How often the calls of one line ended with which status. */
type Outcomes = ReadonlyMap<string, number>;

/** The script as it was sent, with the calls of each line and the line it waits in. */
export function Script({ call, chain }: Readonly<{ call: TimelineCall; chain: Chain | undefined }>): ReactNode {
  const { data, error, refetch } = useAnswer("GET /v1/calls/{id}", { id: call.call_id });
  const code = data?.arguments["code"];
  const language = chain?.language ?? data?.arguments["language"];
  const result = data?.outcome?.structured;
  return (
    <Part label={`Script ${languages.get(language) ?? ""}`}>
      {chain?.state === "waiting" && <Frozen chain={chain} />}
      {chain?.state === "interrupted" && <Notice tone="accent">{chain.advice}</Notice>}
      {data === undefined && <NotYet error={error} again={refetch} rows={3} />}
      {typeof code === "string" && (
        <Listing code={code} outcomes={outcomesByLine(result)} waiting={chain?.waiting ?? []} />
      )}
      <Output label="What it printed" text={memberOf(result, "logs")} />
      <Output label="What it returned" text={memberOf(result, "output_text")} />
    </Part>
  );
}

function Frozen({ chain: { waiting, since, expires_at } }: { readonly chain: Chain }): ReactNode {
  return (
    <Notice tone="accent">
      Paused <Time at={since} />. It resumes at this line when the agent sends the same call again after the decision
      {expires_at !== undefined && (
        <>
          , <Time at={expires_at} /> at the latest
        </>
      )}
      .{" "}
      {waiting.map(({ approval_id, tool }) => (
        <span key={approval_id} className="mr-2">
          <TextLink to="/approvals/{-$request}" params={{ request: approval_id }}>
            The request for <Text>{tool}</Text>
          </TextLink>
        </span>
      ))}
    </Notice>
  );
}

/** The output of a script; its result has all of it. */
function Output({ label, text }: Readonly<{ label: string; text: unknown }>): ReactNode {
  if (typeof text !== "string" || text === "") return null;
  return (
    <div className="mt-2 grid gap-1.5">
      <h4 className="label">{label}</h4>
      <Preformatted label={label} lines limit={20_000}>
        {text}
      </Preformatted>
    </div>
  );
}

type ListingProps = Readonly<{ code: string; outcomes: ReadonlyMap<number, Outcomes>; waiting: Chain["waiting"] }>;

function Listing({ code, outcomes, waiting }: ListingProps): ReactNode {
  const [lines, more] = useFirst(code.split(/\r\n|[\r\n]/), { noun: "lines", first: 200 });
  return (
    <>
      <ol aria-label="Lines of the script" className="mono overflow-x-auto rounded-md bg-canvas py-2 leading-relaxed">
        {lines.map((text, at) => {
          const line = at + 1;
          const waits = waiting.filter((one) => one.line === line);
          return (
            <li
              key={line}
              className={classNames(
                "grid grid-cols-[2rem_minmax(0,1fr)_auto] items-baseline gap-x-3 pr-3 sm:grid-cols-[3rem_minmax(0,1fr)_auto]",
                waits.length > 0 && "bg-accent-tint",
              )}
            >
              <span aria-hidden="true" className="tabular text-right text-ink-3 select-none">
                {line}
              </span>
              <Text lines>{text}</Text>
              <span className="flex gap-1.5 font-sans">
                {waits.map(({ approval_id }) => (
                  <StateBadge key={approval_id} state="held" />
                ))}
                {[...(outcomes.get(line) ?? [])].map(([status, times]) => (
                  <span key={status} className="inline-flex items-center gap-1">
                    <StateBadge state={status} />
                    {times > 1 && <span className="tabular text-[0.8571rem] text-ink-2">×{number(times)}</span>}
                  </span>
                ))}
              </span>
            </li>
          );
        })}
      </ol>
      {more}
    </>
  );
}

/** From the trace of a script that has ended. Only entries of the right shape count: a script made it. */
function outcomesByLine(structured: unknown): ReadonlyMap<number, Outcomes> {
  const lines = new Map<number, Map<string, number>>();
  const trace = memberOf(structured, "call_trace");
  for (const entry of Array.isArray(trace) ? trace : []) {
    const [line, status] = [memberOf(entry, "line"), memberOf(entry, "status")];
    if (typeof line !== "number" || typeof status !== "string") continue;
    const outcomes = lines.get(line) ?? new Map<string, number>();
    lines.set(line, outcomes.set(status, (outcomes.get(status) ?? 0) + 1));
  }
  return lines;
}

function memberOf(value: unknown, name: string): unknown {
  return typeof value === "object" && value !== null ? Reflect.get(value, name) : undefined;
}
