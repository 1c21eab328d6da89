import type { Risk } from "../../calls/call.ts";
import type { JsonObject } from "../../calls/json.ts";
import type { ApprovalState } from "../../calls/records.ts";
import type { ApprovalWire } from "../wire-approvals.ts";
import type { DelegationWire, GrantWire } from "../wire-grants.ts";
import type { Line } from "./client-line.ts";

export type ApprovalsAsked = {
  readonly state?: ApprovalState;
  readonly risk?: string;
  readonly tool?: string;
  readonly run_id?: string;
  readonly mine?: "true";
  readonly after?: string;
  readonly limit?: number;
};

export interface DecisionBody {
  readonly reason?: string | undefined;
  readonly confirmation?: string | undefined;
  readonly expected_digest?: string | undefined;
  /** With `modify`. */
  readonly arguments?: JsonObject | undefined;
  readonly remember?: RememberBody | undefined;
}

/** `until`: ISO 8601. */
export interface RememberBody {
  readonly scope?: { readonly arguments?: JsonObject | undefined } | undefined;
  readonly for: "run" | "session" | { readonly until: string };
  readonly reason: string;
}

export interface BatchBody {
  readonly ids: readonly string[];
  readonly decision: "approved" | "denied" | "skipped";
  readonly reason?: string | undefined;
}

export type DecidedWire = ApprovalWire & { readonly grant?: GrantWire };

export interface BatchAnswerWire {
  readonly approval_id: string;
  readonly decided: boolean;
  readonly approval?: ApprovalWire;
  readonly error?: { readonly code: string; readonly message: string };
}

export interface ApprovalPageWire {
  readonly approvals: readonly ApprovalWire[];
  readonly next_after?: string;
  /** On the first page of what is pending: how many there are, by risk. */
  readonly waiting?: Readonly<Record<Risk, number>>;
}

/** The part of the client that is about approvals. */
export class ApprovalClient {
  readonly #line: Line;

  constructor(line: Line) {
    this.#line = line;
  }

  page(where: ApprovalsAsked = {}): Promise<ApprovalPageWire> {
    return this.#line.get("/v1/approvals", where);
  }
  show(id: string): Promise<ApprovalWire> {
    return this.#line.get(`/v1/approvals/${encodeURIComponent(id)}`);
  }
  decide(id: string, verb: "approve" | "deny" | "skip" | "modify", body: DecisionBody = {}): Promise<DecidedWire> {
    return this.#line.post(`/v1/approvals/${encodeURIComponent(id)}/${verb}`, body);
  }
  decideMany(body: BatchBody): Promise<{ answers: readonly BatchAnswerWire[] }> {
    return this.#line.post("/v1/approvals/batch", body);
  }
  takeBack(id: string, verb: "withdraw" | "revoke", reason?: string): Promise<ApprovalWire> {
    return this.#line.post(`/v1/approvals/${encodeURIComponent(id)}/${verb}`, { reason });
  }
  grants(where: { state?: string; tool?: string } = {}): Promise<{ grants: readonly GrantWire[] }> {
    return this.#line.get("/v1/grants", where);
  }
  revokeGrant(id: string, reason?: string): Promise<GrantWire> {
    return this.#line.post(`/v1/grants/${encodeURIComponent(id)}/revoke`, { reason });
  }
  delegations(): Promise<{ delegations: readonly DelegationWire[] }> {
    return this.#line.get("/v1/delegations", {});
  }
  delegate(to: string, until: string, reason?: string): Promise<DelegationWire> {
    return this.#line.post("/v1/delegations", { to, until, reason });
  }
  endDelegation(id: string): Promise<DelegationWire> {
    return this.#line.post(`/v1/delegations/${encodeURIComponent(id)}/revoke`, {});
  }
}
