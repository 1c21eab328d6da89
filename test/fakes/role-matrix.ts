import { type Permission, type Role, roles } from "../../packages/core/src/roles.ts";
import { goodPassword } from "./people.ts";
import { aDigest, aRecord } from "./stub-runtime.ts";

/** The permissions of each role, written a second time, so that an accidental change of the table fails. */
export const grid: Readonly<Record<Permission, string>> = {
  //                 agent viewer approver operator auditor admin; `!`: in the installation's own tenant only
  "approvals:read": "agent viewer approver operator auditor admin",
  "approvals:decide": "approver",
  "grants:write": "approver",
  "calls:read": "agent viewer approver operator auditor admin",
  "calls:make": "agent operator",
  "calls:settle": "operator",
  "runs:read": "agent viewer approver operator auditor admin",
  "runs:write": "agent operator",
  "artifacts:read": "agent viewer approver operator auditor admin",
  "artifacts:write": "",
  "events:read": "viewer approver operator auditor admin",
  "tools:read": "agent viewer approver operator auditor admin",
  "tools:approve": "operator !",
  "tools:switch": "operator !",
  "skills:read": "viewer approver operator auditor admin",
  "skills:write": "operator",
  "memory:decide": "approver operator",
  "policy:read": "viewer approver operator auditor admin",
  "policy:write": "operator !",
  "controls:read": "viewer approver operator auditor admin",
  "controls:write": "operator !",
  "agents:pause": "operator",
  "alarms:read": "viewer approver operator auditor admin",
  "alarms:write": "operator",
  "channels:read": "operator auditor admin",
  "channels:write": "operator !",
  "metrics:read": "operator admin !",
  "audit:read": "auditor",
  "audit:sign": "auditor !",
  "audit:export": "auditor !",
  "backups:make": "operator !",
  "accounts:admin": "admin",
  "tokens:own": "viewer approver operator auditor admin",
  "session:own": "viewer approver operator auditor admin",
};
/** What a person may do, and a token of that person may not. */
const neverByToken: readonly Permission[] = ["tokens:own", "accounts:admin"];

export interface Row {
  readonly needs: Permission | "nothing";
  /** The status for an allowed caller and an object of the same tenant. */
  readonly own: number;
  /** The status for an allowed caller of another tenant; by default the same, for objects without a tenant. */
  readonly foreign?: number;
  /** The status for an agent of the same tenant that does not own the object; by default as for another tenant. */
  readonly stranger?: number;
  /** The status for a token where a session is needed. */
  readonly token?: number;
  readonly body?: object;
  /** The permission to see the object without changing it. */
  readonly onlyLook?: readonly Role[];
}

const reading = (needs: Permission, own = 200, foreign = own): Row => ({ needs, own, foreign });
const doing = (needs: Permission, own = 200, body: object = {}, foreign = own): Row => ({ needs, own, body, foreign });
const aText = { configuration: { name: "postern.yaml", text: "{}" } };

/** Written out, so that a new route without a decision about its callers fails here. */
export const matrix: Readonly<Record<string, Row>> = {
  "post /v1/calls": doing("calls:make", 200, { tool: "echo" }),
  "post /v1/explain": doing("calls:make", 200, { tool: "echo" }),
  "get /v1/calls": reading("calls:read"),
  "get /v1/calls/{id}": reading("calls:read", 200, 404),
  "post /v1/calls/{id}/settle": doing("calls:settle", 200, { outcome: "succeeded", reason: "seen" }, 404),
  "post /v1/calls/{id}/reconcile": doing("calls:settle", 200, {}, 404),
  "get /v1/chains": reading("calls:read"),
  "post /v1/chains/{id}/resume": doing("calls:make", 404),
  "get /v1/tools": reading("tools:read"),
  "get /v1/tools/{name}": reading("tools:read", 404),
  "get /v1/tools/{name}/changes": reading("tools:approve"),
  "post /v1/tools/{name}/approve": doing("tools:approve", 200, { definition: aDigest }),
  "get /v1/artifacts/{digest}": reading("artifacts:read"),
  "post /v1/artifacts": doing("artifacts:write", 403),
  "get /v1/health": reading("tools:read"),
  "get /v1/statistics": reading("controls:read"),
  "get /v1/approvals": reading("approvals:read"),
  "get /v1/approvals/groups": reading("approvals:read"),
  "get /v1/approvals/counts": reading("controls:read"),
  "get /v1/approvals/{id}": reading("approvals:read", 200, 404),
  "post /v1/approvals/{id}/approve": doing("approvals:decide", 200, {}, 404),
  "post /v1/approvals/{id}/deny": doing("approvals:decide", 200, {}, 404),
  "post /v1/approvals/{id}/skip": doing("approvals:decide", 200, {}, 404),
  "post /v1/approvals/{id}/modify": doing("approvals:decide", 200, { arguments: {} }, 404),
  "post /v1/approvals/batch": doing("approvals:decide", 200, { ids: ["apr_1"], decision: "approved" }),
  "post /v1/approvals/{id}/withdraw": {
    ...doing("approvals:read", 200, {}, 404),
    onlyLook: ["viewer", "approver", "auditor", "admin"], // the requests of this runtime are of no agent of theirs
  },
  "post /v1/approvals/{id}/revoke": doing("approvals:decide", 200, {}, 404),
  "post /v1/approvals/{id}/comments": doing("approvals:decide", 200, { text: "One moment." }, 404),
  "post /v1/approvals/{id}/resume": doing("calls:make", 200, {}, 404),
  "get /v1/grants": reading("approvals:read"),
  "post /v1/grants/{id}/revoke": doing("grants:write", 404),
  "get /v1/audit": reading("audit:read"),
  "get /v1/audit/verify": reading("audit:read"),
  "get /v1/audit/latest": reading("audit:read"),
  "get /v1/audit/count": reading("audit:read"),
  "get /v1/audit/observed": reading("audit:read"),
  "get /v1/audit/{seq}/proof": reading("audit:read", 200, 404),
  "get /v1/audit/export": reading("audit:export"),
  "get /v1/storage": reading("controls:read"),
  "post /v1/backups": doing("backups:make"),
  "post /v1/backups/checked": doing("backups:make", 200, { taken_at: "2026-01-01T00:00:00.000Z" }),
  "post /v1/audit/checkpoint": doing("audit:sign"),
  "put /v1/audit/heads/{name}": doing("audit:sign", 200, { note: "log\n1\nAAAA\n\n— log AAAA\n" }),
  "get /v1/audit/heads/{name}": reading("audit:sign", 404),
  "get /v1/controls": reading("controls:read"),
  "get /v1/controls/history": reading("controls:read"),
  "post /v1/controls/pause": doing("controls:write"),
  "post /v1/controls/resume": doing("controls:write"),
  "post /v1/controls/pauses": doing("agents:pause", 200, { agent: "bot", paused: true }),
  "post /v1/controls/autonomy": doing("controls:write", 200, { level: "A1" }),
  "post /v1/controls/tools/{name}": doing("tools:switch", 200, { enabled: true }),
  "post /v1/controls/servers/{name}": doing("tools:switch", 200, { enabled: true }),
  "get /v1/runs": reading("runs:read"),
  "get /v1/runs/{id}": reading("runs:read", 200, 404),
  "get /v1/runs/{id}/events": reading("runs:read", 200, 404),
  "get /v1/runs/{id}/timeline": reading("runs:read", 200, 404),
  "post /v1/runs/{id}/begin": { ...doing("runs:write"), stranger: 404 }, // in another tenant it is another run
  "post /v1/runs/{id}/describe": doing("runs:write", 200, {}, 404),
  "post /v1/runs/{id}/finish": doing("runs:write", 200, {}, 404),
  "get /v1/agent-runs": reading("calls:make"),
  "get /v1/agent-runs/{id}": reading("calls:make", 404), // each caller has its own
  "put /v1/agent-runs/{id}": doing("calls:make", 200, { state: {}, expected_version: 0 }),
  "delete /v1/agent-runs/{id}": doing("calls:make", 204),
  "get /v1/policy/text": reading("policy:read", 501, 403), // the operator's own file
  "post /v1/policy/save": doing("policy:write", 501, { text: "{}", expected_digest: aDigest }),
  "post /v1/policy/reload": doing("policy:write", 501, {}),
  "post /v1/policy/activate": doing("policy:write", 501, aText),
  "get /v1/policy": reading("policy:read"),
  "post /v1/policy/explain": doing("policy:read", 200, { tool: "echo" }),
  "get /v1/calls/{id}/explanation": reading("policy:read", 200, 404),
  "post /v1/policy/simulate": doing("policy:read", 501, aText),
  "post /v1/policy/test": doing("policy:read", 501, aText),
  "get /v1/skills": reading("skills:read"),
  "post /v1/skills/{name}/activate": doing("skills:write", 404, { run_id: "run_1" }),
  "post /v1/skills/{name}/deactivate": doing("skills:write", 404, { run_id: "run_1" }),
  "get /v1/memory/candidates": reading("memory:decide", 501),
  "post /v1/memory/candidates/{id}/accept": doing("memory:decide", 501),
  "post /v1/memory/candidates/{id}/reject": doing("memory:decide", 501),
  "get /v1/events": reading("events:read"),
  "get /v1/alarms": reading("alarms:read"),
  "get /v1/needs": reading("alarms:read"),
  "post /v1/servers/{name}/reconnect": doing("tools:switch", 200),
  "post /v1/alarms/{id}/ack": doing("alarms:write", 200, {}, 404),
  "post /v1/alarms/{id}/resolve": doing("alarms:write", 200, {}, 404),
  "get /metrics": reading("metrics:read", 501), // the runtime of this test counts nothing
  "get /v1/channels": reading("channels:read"),
  "post /v1/channels/{name}/test": doing("channels:write"),
  "post /v1/channels/{name}/retry": doing("channels:write"),
  "post /v1/secrets/changes": doing("controls:write", 200, { connector: "github", key: "token", act: "set" }),
  "post /v1/channels/{name}/decisions": { needs: "nothing", own: 401, body: {} },
  "post /v1/channels/{name}/slack": { needs: "nothing", own: 401, body: {} },
  "get /healthz": { needs: "nothing", own: 200 },
  "get /readyz": { needs: "nothing", own: 200 },
  "get /v1/session/ways": { needs: "nothing", own: 200 },
  "post /v1/session": { needs: "nothing", own: 401, body: { name: "nobody", password: goodPassword } },
  "post /v1/session/link": { needs: "nothing", own: 401, body: { token: "none" } },
  "get /v1/session/openid": { needs: "nothing", own: 501 },
  "get /v1/session/openid/callback": { needs: "nothing", own: 501 },
  "get /v1/session": reading("session:own"),
  "delete /v1/session": { needs: "session:own", own: 204, token: 422 },
  "put /v1/session/password": {
    ...{ needs: "session:own", own: 204, token: 422 },
    body: { current: goodPassword, password: "another horse battery" },
  },
  "get /v1/accounts": reading("accounts:admin"),
  "post /v1/accounts": doing("accounts:admin", 201, { name: "newcomer", roles: [] }),
  "get /v1/accounts/{name}": reading("accounts:admin", 200, 404),
  "patch /v1/accounts/{name}": doing("accounts:admin", 200, { roles: ["viewer"] }, 404),
  "put /v1/accounts/{name}/password": doing("accounts:admin", 200, { password: "another horse battery" }, 404),
  "post /v1/accounts/{name}/sign-out": doing("accounts:admin", 200, {}, 404),
  "post /v1/accounts/{name}/link": doing("accounts:admin", 201, {}, 404),
  "get /v1/tokens": reading("tokens:own"),
  "post /v1/tokens": doing("tokens:own", 201, { name: "ci", kind: "person" }),
  "delete /v1/tokens/{id}": reading("tokens:own", 404),
  "get /v1/connections": reading("tokens:own"),
  "post /v1/connections/{server}/sign-in": doing("tokens:own", 404),
  "put /v1/connections/{server}": doing("tokens:own", 404, { keys: {} }),
  "delete /v1/connections/{server}": reading("tokens:own", 404),
  "get /v1/connections/callback": { needs: "nothing", own: 303 },
  "get /v1/connections/client": { needs: "nothing", own: 404 },
};

export function pathOf(path: string): string {
  return path
    .replace("{id}", path.includes("approvals") ? "apr_1" : path.includes("runs") ? "run_1" : aRecord().call.id)
    .replace("{name}", path.includes("accounts") ? "target" : "echo")
    .replace("{seq}", "0")
    .replace("{digest}", aDigest);
}

/** A kind of caller: a column of the matrix. */
export interface Column {
  readonly name: string;
  readonly who: "nobody" | "agent" | Role | "holder";
  readonly tenant: "default" | "acme";
  readonly by: "session" | "token" | "file" | "none";
}

const tenants = ["default", "acme"] as const;
export const columns: readonly Column[] = [
  { name: "nobody", who: "nobody", tenant: "default", by: "none" },
  { name: "the agent's token", who: "agent", tenant: "default", by: "file" },
  { name: "the operator's token", who: "holder", tenant: "default", by: "file" },
  ...tenants.map((tenant): Column => ({ name: `an agent of ${tenant}`, who: "agent", tenant, by: "token" })),
  ...roles.flatMap((who) =>
    tenants.flatMap((tenant) =>
      (["session", "token"] as const).map((by): Column => ({ name: `${who} of ${tenant}, ${by}`, who, tenant, by })),
    ),
  ),
];

/** One status for each cell. */
export function expected(
  { needs, own, foreign = own, stranger = foreign, token = own, onlyLook = [] }: Row,
  { who, tenant, by }: Column,
): number {
  if (needs === "nothing") return own;
  if (who === "nobody") return 401;
  if (who === "holder") return token;
  const held = grid[needs].split(" ");
  const isBarred = (by === "token" && neverByToken.includes(needs)) || (held.includes("!") && tenant !== "default");
  if (!held.includes(who) || isBarred) return 403;
  if (tenant === "default" && onlyLook.some((role) => role === who)) return 403;
  if (tenant === "acme") return by === "token" && token !== own ? token : foreign;
  // The data folder's agent owns no object here.
  if (who === "agent" && by === "file") return stranger;
  return by === "token" ? token : own;
}

/** Makes the name in the body unique. */
export function numbered(body: object, at: number): object {
  return "name" in body && body.name === "newcomer" ? { ...body, name: `newcomer${at}` } : body;
}
