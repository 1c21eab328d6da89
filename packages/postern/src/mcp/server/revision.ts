import { isJsonObject, type JsonObject, shown } from "@postern/core";
import { decoded, parameterHeaders } from "../protocol/parameter-headers.ts";
import { RpcFault, rpcCodes } from "../protocol/peer.ts";
import { metaKeys, newest, revisions } from "../protocol/revisions.ts";

/** A header of the request, in lower case. */
export type Header = (name: string) => string | undefined;

/** Whether a message states its own revision. Since 2026-07-28 every request does. */
export function statesRevision(params: unknown): boolean {
  const meta = isJsonObject(params) ? params["_meta"] : undefined;
  return isJsonObject(meta) && metaKeys.protocolVersion in meta;
}

/** Whether the header names a revision of requests that state it. */
export function headerIsNew(header: Header): boolean {
  return (headerText(header, "mcp-protocol-version") ?? "") >= newest;
}

/**
 * Checks what a request of 2026-07-28 states in `_meta`. Which other headers it needs depends on its revision, so only the
 * one with the revision is read here.
 *
 * @throws RpcFault -32602 for a wrong or missing member, -32020 for a header with another revision, -32022 for a revision that
 * is not spoken here
 */
export function checkStated(meta: JsonObject, header: Header = withoutHeaders): void {
  const problem = Object.entries(stated).find(([key, isRight]) => !isRight(meta[key]));
  if (problem !== undefined) {
    const [key] = problem;
    const what = meta[key] === undefined ? "is missing" : `is ${shown(meta[key])}`;
    throw new RpcFault(
      rpcCodes.invalidParams,
      `\`_meta["${key}"]\` ${what}; every request of revision ${newest} must state it, as the protocol describes it.`,
      { envelope: { key, problem: meta[key] === undefined ? "missing" : "invalid" } },
    );
  }
  const requested = meta[metaKeys.protocolVersion];
  checkHeader(header, "MCP-Protocol-Version", { stated: requested, isRequired: false });
  if (requested !== newest) throw unsupported(String(requested));
}

export function unsupported(requested: string): RpcFault {
  const message = `Revision \`${requested.slice(0, 60)}\` is not spoken here; a request may state ${newest}, and \`initialize\` offers the older ones.`;
  return new RpcFault(rpcCodes.revisionUnsupported, message, { supported: [newest], requested });
}

function withoutHeaders(): undefined {}

function isText(value: unknown): boolean {
  return typeof value === "string";
}

const levels = new Set<unknown>(["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"]);

/** The members that are read, with what each must be. */
const stated: Readonly<Record<string, (value: unknown) => boolean>> = {
  [metaKeys.protocolVersion]: isText,
  [metaKeys.clientCapabilities]: isJsonObject,
  [metaKeys.clientInfo]: (info) =>
    info === undefined || (isJsonObject(info) && isText(info["name"]) && isText(info["version"])),
  [metaKeys.logLevel]: (level) => level === undefined || levels.has(level),
};

/** The member that the header `Mcp-Name` repeats, by method. */
const named: ReadonlyMap<string, string> = new Map([
  ["tools/call", "name"],
  ["prompts/get", "name"],
  ["resources/read", "uri"],
  ["tasks/get", "taskId"],
  ["tasks/update", "taskId"],
  ["tasks/cancel", "taskId"],
]);

/**
 * Checks that the headers of a request or notification of 2026-07-28 repeat its body: proxies decide by headers, and Postern
 * by the body.
 *
 * @throws RpcFault -32020
 */
export function checkHeaders({ method, id, params }: JsonObject, header: Header): void {
  const isRequest = id !== undefined;
  const meta = isJsonObject(params) && isJsonObject(params["_meta"]) ? params["_meta"] : {};
  checkHeader(header, "MCP-Protocol-Version", { stated: meta[metaKeys.protocolVersion], isRequired: isRequest });
  checkHeader(header, "Mcp-Method", { stated: method, isRequired: isRequest });
  const member = isRequest ? named.get(String(method)) : undefined;
  const value = member !== undefined && isJsonObject(params) ? params[member] : undefined;
  if (typeof value === "string") checkHeader(header, "Mcp-Name", { stated: value, isRequired: true, isEncoded: true });
}

interface Repeated {
  readonly stated: unknown;
  readonly isRequired: boolean;
  /** The header may be written as `=?base64?…?=`. */
  readonly isEncoded?: boolean;
}

/** @throws RpcFault -32020 */
function checkHeader(header: Header, name: string, { stated: inBody, isRequired, isEncoded }: Repeated): void {
  const value = headerText(header, name.toLowerCase());
  if (value === undefined && !isRequired) return;
  const read = isEncoded === true && value !== undefined ? decoded(value) : value;
  if (read !== undefined && (read === inBody || inBody === undefined)) return;
  const what =
    value === undefined ? "is missing" : read === undefined ? "is not valid Base64" : `is \`${value.slice(0, 200)}\``;
  throw new RpcFault(
    rpcCodes.headerMismatch,
    `The header \`${name}\` ${what}, and the body states ${shown(inBody)}; send the value of the body.`,
    { mismatch: { header: value ?? "(missing)", body: String(inBody) } },
  );
}

function headerText(header: Header, name: string): string | undefined {
  return header(name)?.replace(/^[ \t]+|[ \t]+$/g, "");
}

/** @throws RpcFault -32000 if the header of a session's request names a revision that is not spoken here */
export function checkSessionRevision(header: Header): void {
  const version = headerText(header, "mcp-protocol-version");
  if (version === undefined || revisions.some((known) => known === version)) return;
  throw new RpcFault(
    -32_000,
    `The header \`MCP-Protocol-Version\` is \`${version.slice(0, 60)}\`, which is not spoken here; \`initialize\` answers with the revision to send.`,
  );
}

/**
 * Checks the headers that repeat arguments.
 *
 * @throws RpcFault -32020
 */
export function checkParameterHeaders(schema: JsonObject, given: unknown, header: Header): void {
  for (const { name, value } of parameterHeaders(schema, given))
    checkHeader(header, name, { stated: value, isRequired: true, isEncoded: true });
}
