import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { type ReactNode, useState } from "react";
import type { CallView } from "../../../../src/server/contract/calls.ts";
import type { Chain } from "../../../../src/server/contract/chains.ts";
import type { TimelineCall } from "../../../../src/server/contract/runs.ts";
import { get } from "../../api/client.ts";
import { StateBadge } from "../../kit/badge.tsx";
import { Button } from "../../kit/button.tsx";
import { Part } from "../../kit/card.tsx";
import { classNames } from "../../kit/class-names.ts";
import { Notice, NotYet } from "../../kit/states.tsx";
import { Text } from "../../kit/text.tsx";
import { Time } from "../../kit/time.tsx";

/** In the row of a script that was put away: where it stands. */
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

/** What a script says of its calls, when it has ended. */
interface Traced {
  readonly tool: string;
  readonly status: string;
  readonly line?: number;
}

/** What came of the calls of one line, in the order it first did. */
type Came = ReadonlyMap<string, number>;

/** The script as it was sent, with what each line called, and the line it waits in. */
export function Script({ call, chain }: { readonly call: TimelineCall; readonly chain: Chain | undefined }): ReactNode {
  const { data, error, refetch } = useQuery({
    queryKey: ["live", "script", call.call_id],
    queryFn: ({ signal }) => get<CallView>(`/v1/calls/${encodeURIComponent(call.call_id)}`, { signal }),
  });
  const code = data?.arguments["code"];
  const language = chain?.language ?? data?.arguments["language"];
  return (
    <Part label={`Script ${languages.get(language) ?? ""}`}>
      {chain?.state === "waiting" && <PutAway chain={chain} />}
      {chain?.state === "interrupted" && <Notice tone="accent">{chain.advice}</Notice>}
      {data === undefined && <NotYet error={error} again={refetch} rows={3} />}
      {typeof code === "string" && (
        <Listing code={code} came={cameOf(data?.outcome?.structured)} waiting={chain?.waiting ?? []} />
      )}
      <Said label="What it printed" text={wordsIn(data?.outcome?.structured, "logs")} />
      <Said label="What it answered" text={wordsIn(data?.outcome?.structured, "output_text")} />
    </Part>
  );
}

function PutAway({ chain: { waiting, since, expires_at } }: { readonly chain: Chain }): ReactNode {
  return (
    <Notice tone="accent">
      Put away <Time at={since} />: it goes on where it stands when the same call is sent again after the decision
      {expires_at !== undefined && (
        <>
          , <Time at={expires_at} /> at the latest
        </>
      )}
      .{" "}
      {waiting.map(({ approval_id, tool }) => (
        <Link key={approval_id} to={`/approvals/${approval_id}`} className="mr-2 underline">
          The request for <Text>{tool}</Text>
        </Link>
      ))}
    </Notice>
  );
}

/** Of a script's words; all of them stand in its result. */
const mostSaid = 20_000;

function Said({ label, text }: { readonly label: string; readonly text: string }): ReactNode {
  if (text === "") return null;
  return (
    <div className="mt-2 grid gap-1.5">
      <h4 className="label">{label}</h4>
      <section
        aria-label={label}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard
        tabIndex={0}
        className="mono max-h-64 overflow-auto rounded-md bg-canvas px-3 py-2 leading-relaxed"
      >
        <Text lines limit={mostSaid}>
          {text}
        </Text>
      </section>
    </div>
  );
}

const mostLines = 200;

function Listing({
  code,
  came,
  waiting,
}: {
  readonly code: string;
  readonly came: ReadonlyMap<number, Came>;
  readonly waiting: Chain["waiting"];
}): ReactNode {
  const [all, setAll] = useState(false);
  const lines = code.split(/\r\n|[\r\n]/);
  const shown = all ? lines : lines.slice(0, mostLines);
  return (
    <>
      <ol aria-label="Lines of the script" className="mono overflow-x-auto rounded-md bg-canvas py-2 leading-relaxed">
        {shown.map((text, at) => {
          const number = at + 1;
          const waits = waiting.filter(({ line }) => line === number);
          return (
            <li
              key={number}
              className={classNames(
                "grid grid-cols-[2rem_minmax(0,1fr)_auto] sm:grid-cols-[3rem_minmax(0,1fr)_auto] items-baseline gap-x-3 pr-3",
                waits.length > 0 && "bg-accent-tint",
              )}
            >
              <span aria-hidden="true" className="tabular text-right text-ink-3 select-none">
                {number}
              </span>
              <Text lines>{text}</Text>
              <span className="flex gap-1.5 font-sans">
                {waits.map(({ approval_id }) => (
                  <StateBadge key={approval_id} state="held" />
                ))}
                {[...(came.get(number) ?? [])].map(([status, times]) => (
                  <span key={status} className="inline-flex items-center gap-1">
                    <StateBadge state={status} />
                    {times > 1 && (
                      <span className="tabular text-[0.8571rem] text-ink-2">×{times.toLocaleString("en")}</span>
                    )}
                  </span>
                ))}
              </span>
            </li>
          );
        })}
      </ol>
      {shown.length < lines.length && (
        <Button size="small" className="justify-self-start" onClick={() => setAll(true)}>
          All {lines.length.toLocaleString("en")} lines
        </Button>
      )}
    </>
  );
}

/** Of each line that called: how often it came to what. A line may have called a thousand times. */
function cameOf(structured: unknown): ReadonlyMap<number, Came> {
  const lines = new Map<number, Map<string, number>>();
  for (const { line, status } of tracedIn(structured)) {
    if (line === undefined) continue;
    const came = lines.get(line) ?? new Map<string, number>();
    lines.set(line, came.set(status, (came.get(status) ?? 0) + 1));
  }
  return lines;
}

/** A stranger's object until it is looked at: only entries of the right shape count. */
function tracedIn(structured: unknown): readonly Traced[] {
  const trace = memberOf(structured, "call_trace");
  if (!Array.isArray(trace)) return [];
  return trace.filter((one): one is Traced => typeof one === "object" && one !== null && typeof one.tool === "string");
}

function wordsIn(structured: unknown, name: "logs" | "output_text"): string {
  const words = memberOf(structured, name);
  return typeof words === "string" ? words : "";
}

function memberOf(structured: unknown, name: string): unknown {
  return typeof structured === "object" && structured !== null ? Reflect.get(structured, name) : undefined;
}
