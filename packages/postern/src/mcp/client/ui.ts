import { canonical, defined, isJsonObject, type JsonObject, RuntimeFault } from "@postern/core";
import { sha256 } from "@postern/core/system";
import { isUiUri, type UiPage } from "../../tools/ui.ts";
import type { Definition, TrustedDefinitions } from "./definition.ts";
import type { UpstreamTool } from "./upstream.ts";

/** A page up to this length is pinned with its text, so that an operator sees what changed; a longer one with its digest. */
const mostShownCharacters = 64 * 1024;

/** The address of a tool's page, as its server lists it (MCP Apps, and the older flat key). */
export function uiUriOf({ _meta: meta }: UpstreamTool): string | undefined {
  const ui = meta?.["ui"];
  const uri = (isJsonObject(ui) ? ui["resourceUri"] : undefined) ?? meta?.["ui/resourceUri"];
  return typeof uri === "string" && isUiUri(uri) ? uri : undefined;
}

/** The page in a server's answer to `resources/read`. */
export function uiPageIn(contents: readonly JsonObject[], uri: string): UiPage {
  const content = contents.find((one) => one["uri"] === uri) ?? contents[0];
  const { mimeType, text, blob, _meta: meta } = content ?? {};
  if (typeof mimeType !== "string" || !/^text\/html\b/i.test(mimeType))
    throw unavailable(
      `Its server answered with ${JSON.stringify(mimeType ?? "no type")}, and a page is \`text/html\`.`,
    );
  if (typeof text !== "string" && typeof blob !== "string") throw unavailable("Its server answered without a page.");
  return {
    mimeType,
    ...(typeof text === "string" ? { text } : { blob: String(blob) }),
    ...(isJsonObject(meta) && { meta }),
  };
}

interface UiOwner {
  readonly server: string;
  /** Public name. */
  readonly tool: string;
  readonly uri: string;
  readonly strict: boolean;
}

/**
 * Pins a page like the tools of its server: as it is first read, or when an operator approves it. A page can request calls
 * of its server's tools, so a changed page waits for an operator.
 *
 * @throws RuntimeFault `ui_unavailable`
 */
export async function trustedPage(
  page: UiPage,
  { server, tool, uri, strict }: UiOwner,
  pins: TrustedDefinitions,
): Promise<UiPage> {
  const name = `${tool}.ui`; // no tool name has a dot
  const seen = definitionOfPage(page, uri);
  await pins.recordSeen({ server, tool: name }, seen, strict);
  const { pinned } = pins.get(name) ?? {};
  if (pinned?.digest === seen.digest) return page;
  const why = pinned === undefined ? "no operator has approved it yet" : "it changed since it was trusted";
  throw unavailable(`The page of \`${tool}\` is blocked: ${why}. An operator must look at \`${name}\` and approve it.`);
}

function definitionOfPage({ mimeType, text, blob, meta }: UiPage, uri: string): Definition {
  const page = text ?? blob ?? "";
  const body = { name: uri, mimeType, page: sha256(page), ...defined({ _meta: meta }) };
  const shown = text !== undefined && text.length <= mostShownCharacters ? { text } : {};
  return { body: { ...body, ...shown }, digest: sha256(`mcp-ui/1\0${canonical(body)}`) };
}

function unavailable(message: string): RuntimeFault {
  return new RuntimeFault("ui_unavailable", message);
}
