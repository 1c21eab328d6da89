import type { ActionStatisticsView, ToolView as ToolAction } from "@postern/core/contract";
import { getRouteApi } from "@tanstack/react-router";
import type { ReactNode } from "react";
import type { ToolsAddress } from "../../address.ts";
import { useMay, withCommandName } from "../../api/index.ts";
import {
  Card,
  duration,
  ErrorNotice,
  Facts,
  Hash,
  Json,
  number,
  Part,
  RiskBadge,
  SelectField,
  Tabs,
  Text,
  Time,
} from "../../kit/index.ts";
import { BrakeButton } from "../brakes.tsx";
import { LineTable } from "../overview/figures.tsx";
import { DefinitionTab, PageDefinition } from "./definition-tab.tsx";
import { TryTab } from "./try-tab.tsx";
import { type Tool, useStatistics } from "./use-tools.ts";

const route = getRouteApi("/tools/{-$tool}");

export function ToolDetail({ tool }: Readonly<{ tool: Tool }>): ReactNode {
  const may = useMay();
  const address = route.useSearch();
  const navigate = route.useNavigate();
  const hasDefinition = tool.server !== undefined && may("tools:approve");
  const isBlocked = tool.actions[0]?.blocked !== undefined;
  const tab = address.tab ?? (isBlocked && hasDefinition ? "definition" : "about");
  const action = tool.actions.find((one) => one.action === address.action) ?? tool.actions[0];
  const show = (change: Partial<ToolsAddress>): void =>
    void navigate({ to: ".", search: (now) => ({ ...now, ...change }), replace: true });
  if (action === undefined) return null;
  const tabs = [
    { id: "about", label: "About" },
    { id: "schema", label: "Schema" },
    ...(hasDefinition ? [{ id: "definition", label: "Definition" } as const] : []),
    ...(may("calls:make") ? [{ id: "try", label: "Try it" } as const] : []),
  ] as const;
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
          <BrakeButton kind="tool" name={tool.name} />
        </div>
        {tool.actions.length > 1 && (
          <SelectField
            label="Action"
            className="w-auto justify-self-start"
            value={action.action}
            options={tool.actions.map((one) => [one.action, one.action])}
            onChange={(chosen) => show({ action: chosen })}
          />
        )}
        <ErrorNotice>{action.unavailable && `It cannot be called: ${withCommandName(action.unavailable)}`}</ErrorNotice>
      </header>
      <div className="px-4 py-4 lg:px-6">
        <Tabs label="Tool" tabs={tabs} selected={tab} onSelect={(next) => show({ tab: next })}>
          {tab === "about" && <About tool={tool} action={action} />}
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

type AboutProps = Readonly<{ tool: Tool; action: ToolAction }>;

function About({ tool, action }: AboutProps): ReactNode {
  const statistics = tool.statistics.find((one) => one.action === action.action);
  const { ui, guess, scopes } = action;
  return (
    <div className="grid gap-4">
      <Card title={tool.server === undefined ? "Description" : "Description by the server"} body="">
        <Text lines className="max-w-prose">
          {action.description}
        </Text>
      </Card>
      <Figures tool={tool} />
      <Health action={action} statistics={statistics} />
      <Card title="Details" body="">
        <Facts
          rows={{
            Risk: (
              <span className="flex flex-wrap items-center gap-2">
                <RiskBadge risk={action.risk} /> <span className="text-ink-2">{riskSource(action)}</span>
              </span>
            ),
            Guessed: guess && <Text>{`${guess.risk}: ${guess.why.join("; ")}`}</Text>,
            Effects: `${action.effects}${action.open_world ? ", reaches outside" : ""}`,
            Idempotent: action.idempotent ? "yes" : "no: run twice, it has its effect twice",
            Scopes: scopes.length === 0 ? "none needed" : <Text className="mono">{scopes.join(" ")}</Text>,
            Page: ui && <PageFacts ui={ui} />,
            Preview: action.previews ? "shows what would happen" : "none offered",
            "Time limit": action.timeout_ms === undefined ? "session default" : duration(action.timeout_ms),
            Definition: <Hash value={action.definition} label="definition digest" />,
          }}
        />
      </Card>
    </div>
  );
}

/** The page is a program of the server: it is named here, never shown. */
function PageFacts({ ui }: { readonly ui: NonNullable<ToolAction["ui"]> }): ReactNode {
  const origins = Object.values(ui.csp ?? {}).flatMap((list) => (Array.isArray(list) ? list : []));
  const asked = [...ui.permissions, ...origins];
  return (
    <>
      <Text className="mono">{ui.resource_uri}</Text>{" "}
      <span className="text-ink-2">MCP clients show it with the tool.</span>
      {asked.length > 0 && <Text className="text-ink-2">{` It asks for ${asked.join(", ")}.`}</Text>}
    </>
  );
}

const sources = new Map([
  ["declared", "stated by the tool's author"],
  ["operator", "stated in your configuration"],
  ["default", "not stated: a tool of another server counts as high"],
  ["guess", "not stated: guessed from name and description"],
]);

/** A guess can only raise the risk; a lower guess is shown so that the operator can state it. */
function riskSource({ risk, risk_source: source, guess }: ToolAction): string {
  const isStated = source === "declared" || source === "operator";
  if (isStated || guess === undefined || guess.risk === risk) return sources.get(source) ?? source;
  return `not stated: ${risk} until you do; by its name and description it would be ${guess.risk}`;
}

function Figures({ tool }: { readonly tool: Tool }): ReactNode {
  const { data } = useStatistics("day", useMay()("controls:read"));
  if (data === undefined) return null;
  return (
    <Card title="Calls in the last 24 hours">
      <LineTable
        of="Tool"
        label="Its calls"
        lines={tool.statistics}
        since={data.from}
        nothing="It has not been called"
      />
    </Card>
  );
}

type HealthProps = Readonly<{ action: ToolAction; statistics: ActionStatisticsView | undefined }>;

function Health({ action: { health }, statistics }: HealthProps): ReactNode {
  if (health === undefined) return null;
  return (
    <Card title="Health" body="">
      <Facts
        rows={{
          State: health.status,
          "Errors in a row": health.consecutive_errors > 0 && number(health.consecutive_errors),
          "Last success": health.last_success_at && <Time at={health.last_success_at} />,
          "Last error": health.last_error && (
            <>
              <Text>{health.last_error}</Text>{" "}
              {statistics?.last_error_at !== undefined && <Time at={statistics.last_error_at} />}
            </>
          ),
          "Rate limit ends": health.rate_limit_resets_at && <Time at={health.rate_limit_resets_at} />,
        }}
      />
    </Card>
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
