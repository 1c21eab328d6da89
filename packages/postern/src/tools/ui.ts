import { defined, isJsonObject, type Json, type JsonObject } from "@postern/core";
import type { AnyTool, DeclaredUi } from "./kinds.ts";
import { refuseUnknownMembers } from "./known-members.ts";
import type { Members } from "./members.ts";
import type { ToolUi } from "./tool.ts";

/**
 * The page that a client shows for a tool (MCP Apps): declared by its author, or read from the tool's server. It is data
 * here: nothing of Postern runs it.
 */
export interface UiPage {
  readonly mimeType: string;
  readonly text?: string;
  /** Base64. */
  readonly blob?: string;
  /** MCP's `_meta` of the resource: what the page may load and ask for. */
  readonly meta?: JsonObject;
}

/** Clients recognize a page that they can show by this type. */
export const pageType: string = "text/html;profile=mcp-app";
const permissions = ["camera", "microphone", "geolocation", "clipboardWrite"];

const readers = new WeakMap<object, () => Promise<UiPage>>();

/** Sets how the page of a server's tool is read. */
export function readsUi(tool: AnyTool, read: () => Promise<UiPage>): void {
  readers.set(tool, read);
}

/** Returns undefined if the tool has no page. */
export function uiReaderOf(tool: AnyTool | undefined): (() => Promise<UiPage>) | undefined {
  if (tool === undefined || !("ui" in tool) || tool.ui === undefined) return undefined;
  const { html, csp, permissions: asked = [], prefersBorder = false } = tool.ui;
  if (html === undefined) return readers.get(tool);
  const ui = {
    ...defined({ csp }),
    ...(asked.length > 0 && { permissions: Object.fromEntries(asked.map((name) => [name, {}])) }),
    prefersBorder,
  };
  return () => Promise.resolve({ mimeType: pageType, text: html, meta: { ui } });
}

/** Checks what a tool's author states about its page. */
export function checkedUi(declared: DeclaredUi | undefined, members: Members): ToolUi | undefined {
  if (declared === undefined) return undefined;
  const stated = declared as unknown as Json; // a caller without types may write anything
  if (!isJsonObject(stated)) return members.refuse("ui", "must be an object with `resourceUri` and `html`.");
  refuseUnknownMembers(stated, "ui", members);
  const { resourceUri, csp, permissions: asked, prefersBorder, html } = stated;
  if (typeof resourceUri !== "string" || !isUiUri(resourceUri))
    return members.refuse("ui.resourceUri", "must be an address such as `ui://weather/view`.");
  const cspForm = 'must be an object of lists, such as `{ connectDomains: ["https://example.com"] }`.';
  if (csp !== undefined && !isJsonObject(csp)) return members.refuse("ui.csp", cspForm);
  const wanted = members.texts("ui.permissions", asked);
  const odd = wanted.find((name) => !permissions.includes(name));
  if (odd !== undefined)
    return members.refuse("ui.permissions", `has \`${odd}\`; it may have ${permissions.join(", ")}.`);
  if (html !== undefined) members.text("ui.html", html);
  const border = members.flag("ui.prefersBorder", prefersBorder);
  return Object.freeze({ resourceUri, ...defined({ csp }), permissions: wanted, prefersBorder: border });
}

export function isUiUri(uri: string): boolean {
  return /^ui:\/\/\S+$/.test(uri) && uri.length <= 2_000;
}
