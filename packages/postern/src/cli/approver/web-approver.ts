import { isJsonObject, type JsonObject, parseStrict } from "@postern/core";
import type { ApprovalView } from "@postern/core/contract";
import type { Approver, ApproverAnswer } from "../../approvals/approver.ts";
import { cardLines } from "../output/card.ts";

/**
 * How a web approver is mounted.
 *
 * @public
 */
export interface WebApproverOptions {
  /** The sender of an HTTP request, by your own sign-in. A request without one is answered with 401. */
  readonly person: (request: Request) => string | undefined | Promise<string | undefined>;
  /** Where it is mounted. Default: `/approvals`. */
  readonly path?: string;
  /** Wall clock, milliseconds. */
  readonly now?: () => number;
}

/**
 * An approver whose questions are answered in a browser, or by a program, through an HTTP server of your own.
 *
 * @public
 */
export interface WebApprover extends Approver {
  /**
   * Answers a request of the mounted path: `GET` the page, `GET …/requests` the open requests as JSON,
   * `POST …/requests/{id}` one decision: `{ decision, reason?, arguments? }`, or the page's own form.
   */
  fetch(request: Request): Promise<Response>;
}

interface WaitingCard {
  readonly view: ApprovalView;
  readonly answer: (answer: ApproverAnswer) => void;
}

const mostBodyCharacters = 1_000_000;
const overtaken: ApproverAnswer = { decision: "denied", reason: "the caller does not wait for an answer any more" };

/**
 * Asks persons on a page that you mount in your own HTTP server. A decision is taken from the same origin only.
 *
 * @example
 * const web = createWebApprover({ person: (request) => sessionOf(request)?.user });
 * const runtime = await createRuntime({ tools, approvals: { approver: web, patience: "wait" } });
 * app.all("/approvals/*", (context) => web.fetch(context.req.raw)); // Hono; any server with Request and Response
 *
 * @public
 */
export function createWebApprover({ person, path = "/approvals", now = Date.now }: WebApproverOptions): WebApprover {
  const open = new Map<string, WaitingCard>();
  const base = path.replace(/\/+$/, "");
  return {
    name: "web",
    ask: async (request, signal) => {
      const { shownApproval } = await import("../../server/wire.ts"); // the package's entry stays light
      return ask(shownApproval(request), signal, open);
    },
    async fetch(request) {
      const by = await person(request);
      if (by === undefined || by === "") return problem(401, "Sign in first: this request names no person.");
      const below = new URL(request.url).pathname.slice(base.length).replace(/\/+$/, "");
      if (request.method === "GET" && below === "") return page([...open.values()], base, now());
      if (request.method === "GET" && below === "/requests")
        return Response.json({ requests: [...open.values()].map(({ view }) => view) }, { headers: unstored });
      const [, id] = /^\/requests\/([^/]+)$/.exec(below) ?? [];
      if (request.method !== "POST" || id === undefined)
        return problem(404, `There is no \`${request.method} ${base}${below}\`.`);
      return decide(request, open.get(id), { by, base });
    },
  };
}

function ask(view: ApprovalView, signal: AbortSignal, open: Map<string, WaitingCard>): Promise<ApproverAnswer> {
  if (signal.aborted) return Promise.resolve(overtaken);
  return new Promise((resolve) => {
    const answer = (given: ApproverAnswer): void => {
      open.delete(view.approval_id);
      signal.removeEventListener("abort", withdrawn);
      resolve(given);
    };
    const withdrawn = (): void => answer(overtaken);
    signal.addEventListener("abort", withdrawn, { once: true });
    open.set(view.approval_id, { view, answer });
  });
}

async function decide(
  request: Request,
  open: WaitingCard | undefined,
  { by, base }: { readonly by: string; readonly base: string },
): Promise<Response> {
  if (!isSameOrigin(request)) return problem(403, "A page of another site may not decide here.");
  if (open === undefined) return problem(404, "The request is not open any more; look at the list again.");
  const text = await request.text();
  if (text.length > mostBodyCharacters) return problem(413, "The decision is too large.");
  const isForm = (request.headers.get("content-type") ?? "").startsWith("application/x-www-form-urlencoded");
  const given = isForm ? formFields(text) : jsonFields(text);
  const made = typeof given === "string" ? given : answerOf(given, by);
  if (typeof made === "string") return problem(422, made);
  open.answer(made);
  if (isForm) return new Response(null, { status: 303, headers: { location: base, ...unstored } });
  return Response.json({ approval_id: open.view.approval_id, decision: made.decision, by }, { headers: unstored });
}

/** A browser says where a form comes from. A program does not, and has no cookie that another site could use. */
function isSameOrigin(request: Request): boolean {
  const site = request.headers.get("sec-fetch-site");
  if (site !== null && site !== "same-origin" && site !== "none") return false;
  const origin = request.headers.get("origin");
  const host = request.headers.get("host") ?? new URL(request.url).host;
  return origin === null || (URL.canParse(origin) && new URL(origin).host === host);
}

/** Returns a text when it is wrong. */
function jsonFields(text: string): JsonObject | string {
  const read = parseStrict(text);
  if ("problem" in read) return `The decision is not JSON: ${read.problem}`;
  return isJsonObject(read.value) ? read.value : 'The decision must be an object: `{"decision": "approved"}`.';
}

function formFields(text: string): JsonObject | string {
  const { arguments: edited, ...fields } = Object.fromEntries(new URLSearchParams(text));
  if (fields["decision"] !== "modified") return fields;
  const read = parseStrict(edited ?? "");
  return "problem" in read ? `The arguments are not JSON: ${read.problem}` : { ...fields, arguments: read.value };
}

function answerOf({ decision, reason, arguments: edited }: JsonObject, by: string): ApproverAnswer | string {
  const why = typeof reason === "string" && reason.trim() !== "" ? { reason: reason.slice(0, 2_000) } : {};
  if (decision === "approved" || decision === "denied" || decision === "skipped") return { decision, by, ...why };
  if (decision !== "modified") return "`decision` must be `approved`, `denied`, `skipped` or `modified`.";
  if (!isJsonObject(edited)) return "With `modified`, `arguments` must be an object: what runs instead.";
  return { decision, arguments: edited, by, ...why };
}

const unstored = { "cache-control": "no-store" };
const pageHeaders = {
  ...unstored,
  "content-type": "text/html; charset=utf-8",
  "content-security-policy":
    "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
  "x-content-type-options": "nosniff",
  "referrer-policy": "same-origin",
};
const style =
  "body{font:1rem system-ui;max-width:60rem;margin:2rem auto}pre{white-space:pre-wrap;border:1px solid;padding:1rem}textarea{width:100%;height:8rem}";
const columns = 100;

function problem(status: number, message: string): Response {
  return Response.json({ error: { message } }, { status, headers: unstored });
}

function page(open: readonly WaitingCard[], base: string, now: number): Response {
  const cards = open.map(({ view }) => card(view, base, now));
  const body = cards.length === 0 ? "<p>No call waits for a decision.</p>" : cards.join("\n");
  const html = `<!doctype html><html lang="en"><meta charset="utf-8"><title>Approvals</title><style>${style}</style><h1>Approvals</h1>${body}</html>`;
  return new Response(html, { headers: pageHeaders });
}

/** The card of the command line: every invisible character is shown by its code. */
function card(view: ApprovalView, base: string, now: number): string {
  const lines = cardLines(view, now, { paint: (_, text) => text, terminal: { columns } });
  const button = (decision: string, label: string): string =>
    `<button name="decision" value="${decision}">${label}</button>`;
  return `<form method="post" action="${escaped(`${base}/requests/${view.approval_id}`)}">
<pre>${escaped(lines.join("\n"))}</pre>
<p><label>Reason <input name="reason" maxlength="2000"></label></p>
<p>${button("approved", "Approve")} ${button("denied", "Deny")} ${button("skipped", "Skip")}</p>
<details><summary>Run with other arguments</summary><textarea name="arguments">${escaped(JSON.stringify(view.what.arguments, undefined, 2))}</textarea>
<p>${button("modified", "Approve these arguments")}</p></details></form>`;
}

function escaped(text: string): string {
  return text
    .replaceAll("&", "&amp;")
    .replaceAll("<", "&lt;")
    .replaceAll(">", "&gt;")
    .replaceAll('"', "&quot;")
    .replaceAll("'", "&#39;");
}
