import type { ReactNode } from "react";
import { type ApprovalView, namesOf, serverNow, useAnswer, useMay, useSession } from "../../api/index.ts";
import { Card, coarse, Facts, Notice, number, Text, useNow } from "../../kit/index.ts";
import { callSentence } from "./call-sentence.ts";
import { useTool } from "./requests.ts";

type AboutProps = Readonly<{ approval: ApprovalView }>;

/** The facts before the arguments: what the call does to what, in whose words, how often it was asked, and whether it can run. */
export function AboutCall({ approval }: AboutProps): ReactNode {
  const tool = useTool(approval);
  return (
    <section aria-label="About the call" className="grid gap-1.5">
      <p className="text-[1.0714rem] font-medium">
        <CallSentence approval={approval} />
      </p>
      {tool !== undefined && tool.description !== "" && (
        <p className="text-ink-2">
          In the tool’s own words: <Text limit={400}>{tool.description}</Text>
        </p>
      )}
      <History approval={approval} />
      {approval.status === "pending" && <CannotRun approval={approval} />}
    </section>
  );
}

/** The same on the card and in the dialog of a critical call. */
export function CallSentence({ approval }: AboutProps): ReactNode {
  return <Text>{callSentence(approval, useTool(approval)?.effects)}</Text>;
}

const hourMs = 3_600_000;
const days = 30;

/** How often this agent was asked about for this tool, and what this person said today. */
function History({ approval: { what, requested_by } }: AboutProps): ReactNode {
  const enabled = useMay()("controls:read");
  const me = useSession().session?.user.name;
  const where = { tool: what.tool, agent: requested_by.agent };
  const from = (Math.floor(serverNow() / hourMs) - days * 24) * hourMs;
  const midnight = new Date(serverNow()).setHours(0, 0, 0, 0);
  const all = useAnswer("GET /v1/statistics", { ...where, from: String(from), every: "day" }, { enabled }).data;
  const today = useAnswer("GET /v1/statistics", { ...where, from: String(midnight) }, { enabled }).data;
  if (all === undefined || today === undefined) return null;
  const asked = all.tools.reduce((sum, one) => sum + one.asked, 0);
  const { approved, denied } = all.decisions;
  const mine = today.deciders.find(({ decider }) => decider === me)?.approved ?? 0;
  return (
    <p className="tabular text-ink-2">
      {asked < 2
        ? `The first request of this agent for this tool in ${days} days.`
        : `This agent and tool in ${days} days: ${number(asked)} asked, ${number(approved)} approved, ${number(denied)} denied.`}
      {mine > 0 && ` You approved ${number(mine)} today.`}
    </p>
  );
}

/** Of a tool that has a sub-agent work: what that may do at most. The tool can only narrow it. */
export function SubAgent({ approval: { sub_agent: may } }: AboutProps): ReactNode {
  if (may === undefined) return null;
  const { autonomy_level, max_risk_unapproved, scopes, tools } = may;
  return (
    <Card title="What its sub-agent may do at most" body="grid gap-2">
      <Facts
        rows={{
          Tools: <Text>{tools === undefined ? "every tool that this agent may use" : tools.join(", ") || "none"}</Text>,
          Scopes: <Text>{scopes.join(", ") || "none"}</Text>,
          Autonomy: autonomy_level && <Text>{autonomy_level}</Text>,
          "Without approval": max_risk_unapproved && `calls up to risk ${max_risk_unapproved}`,
        }}
      />
      <p className="text-ink-2">
        Its calls pass the same rules, count in the same run, and ask for approval as this one.
      </p>
    </Card>
  );
}

/** Why an approved call would fail now. */
function CannotRun({ approval }: AboutProps): ReactNode {
  const tool = useTool(approval);
  const name = tool?.server ?? namesOf(approval.what.tool).server;
  const { data } = useAnswer("GET /v1/health", {}, { enabled: name !== undefined });
  const server = data?.servers.find((one) => one.name === name);
  const last = server?.changes.at(-1);
  const isDown = last?.status === "disconnected" && server?.status !== "idle";
  const why = isDown ? server?.problem : tool?.unavailable;
  if (!isDown && why === undefined) return null;
  return (
    <Notice>
      {isDown && (
        <>
          <Text className="font-medium">{name}</Text> has been down for <For at={last.at} />.{" "}
        </>
      )}
      An approved call would fail now. <Text>{why}</Text>
    </Notice>
  );
}

function For({ at }: { readonly at: string }): ReactNode {
  return coarse(useNow() - Date.parse(at));
}
