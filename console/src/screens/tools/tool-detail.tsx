import { type ReactNode, useState } from "react";
import type { ActionStatisticsView, ToolView as ToolAction } from "../../../../src/server/contract/tools.ts";
import { useMay } from "../../api/session.ts";
import { typed } from "../../api/typed.ts";
import { RiskBadge } from "../../kit/badge.tsx";
import { Card, Facts, Part } from "../../kit/card.tsx";
import { Hash } from "../../kit/copy.tsx";
import { Json } from "../../kit/json.tsx";
import { Notice } from "../../kit/states.tsx";
import { Tabs } from "../../kit/tabs.tsx";
import { Text } from "../../kit/text.tsx";
import { duration, Time } from "../../kit/time.tsx";
import { DefinitionTab, PageDefinition } from "./definition-tab.tsx";
import { ToolSwitch } from "./switches.tsx";
import { TryTab } from "./try-tab.tsx";
import type { Tool } from "./use-tools.ts";

export function ToolDetail({ tool, since }: { readonly tool: Tool; readonly since: string | undefined }): ReactNode {
  const may = useMay();
  const [chosen, setChosen] = useState(tool.actions[0]?.action ?? "default");
  const isUnsettled = tool.actions[0]?.blocked !== undefined;
  const [tab, setTab] = useState(
    isUnsettled && tool.server !== undefined && may("tools:approve") ? "definition" : "about",
  );
  const action = tool.actions.find((one) => one.action === chosen) ?? tool.actions[0];
  if (action === undefined) return null;
  const tabs = [
    { id: "about", label: "About" },
    { id: "schema", label: "Schema" },
    ...(tool.server === undefined || !may("tools:approve") ? [] : [{ id: "definition", label: "Definition" }]),
    ...(may("calls:make") ? [{ id: "try", label: "Try it" }] : []),
  ];
  return (
    <div className="min-h-0 flex-1 overflow-y-auto">
      <header className="grid gap-2 border-b border-line bg-surface px-4 py-4 lg:px-6">
        <div className="flex flex-wrap items-start justify-between gap-3">
          <div className="min-w-0">
            <h2 className="text-[1.2857rem] font-semibold tracking-tight">
              <Text>{tool.name}</Text>
            </h2>
            {action.title !== undefined && <Text className="text-ink-2">{action.title}</Text>}
          </div>
          <ToolSwitch tool={tool.name} isOff={tool.isOff} />
        </div>
        {tool.actions.length > 1 && <ActionChoice actions={tool.actions} chosen={action.action} onChoose={setChosen} />}
        {action.unavailable !== undefined && (
          <Notice>
            <Text>{`It cannot be called: ${typed(action.unavailable)}`}</Text>
          </Notice>
        )}
      </header>
      <div className="px-4 py-4 lg:px-6">
        <Tabs label="Tool" tabs={tabs} selected={tab} onSelect={setTab}>
          {tab === "about" && <About tool={tool} action={action} since={since} />}
          {tab === "schema" && <Schemas action={action} />}
          {tab === "definition" && (
            <div className="grid gap-6">
              <DefinitionTab tool={tool.name} />
              {action.ui !== undefined && <PageDefinition tool={tool.name} />}
            </div>
          )}
          {tab === "try" && <TryTab key={action.action} action={action} />}
        </Tabs>
      </div>
    </div>
  );
}

function ActionChoice({
  actions,
  chosen,
  onChoose,
}: {
  readonly actions: readonly ToolAction[];
  readonly chosen: string;
  readonly onChoose: (action: string) => void;
}): ReactNode {
  return (
    <label className="flex items-center gap-2">
      <span className="text-ink-2">Action</span>
      <select className="input w-auto" value={chosen} onChange={({ target }) => onChoose(target.value)}>
        {actions.map(({ action }) => (
          <option key={action}>{action}</option>
        ))}
      </select>
    </label>
  );
}

/** The page is a stranger's program, and is named here, never shown. */
function PageFacts({ ui }: { readonly ui: NonNullable<ToolAction["ui"]> }): ReactNode {
  const asked = [
    ...ui.permissions,
    ...Object.values(ui.csp ?? {}).flatMap((list) => (Array.isArray(list) ? list : [])),
  ];
  return (
    <span>
      <Text className="mono">{ui.resource_uri}</Text>{" "}
      <span className="text-ink-2">MCP clients show it with the tool.</span>
      {asked.length > 0 && <Text className="text-ink-2">{` It asks for ${asked.join(", ")}.`}</Text>}
    </span>
  );
}

const sources = new Map([
  ["declared", "stated by the tool's author"],
  ["operator", "stated in your configuration"],
  ["default", "nobody stated it: a stranger's tool counts as high"],
  ["guess", "nobody stated it: guessed from name and description"],
]);

/** A guess may only raise: what it would make of a stranger's tool says what to state. */
function whoSays({ risk, risk_source: source, guess }: ToolAction): string {
  const isStated = source === "declared" || source === "operator";
  if (isStated || guess === undefined || guess.risk === risk) return sources.get(source) ?? source;
  return `nobody stated it: ${risk} until you do; by its name and description it would be ${guess.risk}`;
}

function About({
  tool,
  action,
  since,
}: {
  readonly tool: Tool;
  readonly action: ToolAction;
  readonly since: string | undefined;
}): ReactNode {
  const statistics = tool.statistics.find((one) => one.action === action.action);
  return (
    <div className="grid gap-4">
      <Sheet title={tool.server === undefined ? "Description" : "Description, in the server's own words"}>
        <Text lines className="max-w-prose">
          {action.description}
        </Text>
      </Sheet>
      <Figures statistics={statistics} since={since} />
      <Health action={action} statistics={statistics} />
      <Sheet title="What is known of it">
        <Facts
          rows={[
            [
              "Risk",
              <span key="risk" className="flex flex-wrap items-center gap-2">
                <RiskBadge risk={action.risk} /> <span className="text-ink-2">{whoSays(action)}</span>
              </span>,
            ],
            action.guess === undefined
              ? undefined
              : ["Guessed", <Text key="guess">{`${action.guess.risk}: ${action.guess.why.join("; ")}`}</Text>],
            ["Effects", `${action.effects}${action.open_world ? ", reaches outside" : ""}`],
            [
              "Run twice",
              action.idempotent ? "has the effect of once" : "has its effect twice; Postern never does it by itself",
            ],
            [
              "Scopes",
              action.scopes.length === 0 ? (
                "none needed"
              ) : (
                <Text key="scopes" className="mono">
                  {action.scopes.join(" ")}
                </Text>
              ),
            ],
            action.ui === undefined ? undefined : ["Page", <PageFacts key="page" ui={action.ui} />],
            ["Preview", action.previews ? "shows what would happen" : "none offered"],
            ["Time limit", action.timeout_ms === undefined ? "the session's" : duration(action.timeout_ms)],
            ["Definition", <Hash key="definition" value={action.definition} label="definition digest" />],
          ]}
        />
      </Sheet>
    </div>
  );
}

function Sheet({ title, children }: { readonly title: ReactNode; readonly children: ReactNode }): ReactNode {
  return (
    <Card title={title}>
      <div className="px-4 py-3">{children}</div>
    </Card>
  );
}

function Figures({
  statistics,
  since,
}: {
  readonly statistics: ActionStatisticsView | undefined;
  readonly since: string | undefined;
}): ReactNode {
  if (statistics === undefined) return <p className="text-ink-2">It has not been called since Postern started.</p>;
  const { calls, errors, refused, p50_ms, p95_ms } = statistics;
  const figures: readonly (readonly [name: string, value: string, isBad?: boolean])[] = [
    ["calls", calls.toLocaleString("en")],
    ["failed", `${errors}${calls > 0 && errors > 0 ? ` (${((errors / calls) * 100).toFixed(1)} %)` : ""}`, errors > 0],
    ["refused", refused.toLocaleString("en")],
    ["half within", p50_ms === undefined ? "–" : duration(p50_ms)],
    ["95 % within", p95_ms === undefined ? "–" : duration(p95_ms)],
  ];
  return (
    <Part
      label={
        <>
          How it did
          {since !== undefined && (
            <>
              {" "}
              since the start, <Time at={since} />
            </>
          )}
        </>
      }
    >
      <dl className="grid grid-cols-2 gap-px overflow-hidden rounded-lg border border-line bg-line sm:grid-cols-5">
        {figures.map(([name, value, isBad]) => (
          <div key={name} className="flex flex-col-reverse justify-end bg-surface px-3 py-2.5 max-sm:first:col-span-2">
            <dt className="text-ink-3">{name}</dt>
            <dd
              className={
                isBad === true
                  ? "tabular text-[1.2857rem] font-semibold text-critical"
                  : "tabular text-[1.2857rem] font-semibold"
              }
            >
              {value}
            </dd>
          </div>
        ))}
      </dl>
    </Part>
  );
}

function Health({
  action: { health },
  statistics,
}: {
  readonly action: ToolAction;
  readonly statistics: ActionStatisticsView | undefined;
}): ReactNode {
  if (health === undefined) return null;
  return (
    <Sheet title="Health">
      <Facts
        rows={[
          ["State", health.status],
          health.consecutive_errors === 0 ? undefined : ["Errors in a row", String(health.consecutive_errors)],
          health.last_success_at === undefined
            ? undefined
            : ["Last success", <Time key="well" at={health.last_success_at} />],
          health.last_error === undefined
            ? undefined
            : [
                "Last error",
                <span key="error">
                  <Text>{health.last_error}</Text>{" "}
                  {statistics?.last_error_at !== undefined && <Time at={statistics.last_error_at} />}
                </span>,
              ],
          health.rate_limit_resets_at === undefined
            ? undefined
            : ["Rate limit ends", <Time key="limit" at={health.rate_limit_resets_at} />],
        ]}
      />
    </Sheet>
  );
}

function Schemas({ action }: { readonly action: ToolAction }): ReactNode {
  return (
    <div className="grid gap-5">
      <Part label="Arguments">
        <Json value={action.input_schema} />
      </Part>
      {action.output_schema !== undefined && (
        <Part label="Structured result">
          <Json value={action.output_schema} />
        </Part>
      )}
    </div>
  );
}
