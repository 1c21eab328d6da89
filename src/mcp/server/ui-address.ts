import { isJsonObject, type JsonObject } from "../../core/json.ts";
import type { Runtime } from "../../runtime/api.ts";
import { insideOf } from "../../tools/registry.ts";
import type { Offer } from "../../tools/tool.ts";
import { uiReaderOf } from "../../tools/ui.ts";
import type { Visit } from "./visit.ts";

/** A tool's `_meta` with the address at which its page can be read here; as it is for a tool without a page. */
export function metaWithUi(runtime: Runtime, offer: Offer, { server }: Visit): JsonObject {
  const { meta = {}, ui } = offer;
  const uri = uriHere(runtime, offer, server);
  if (uri === undefined) return ui === undefined ? meta : withoutUi(meta);
  const own = meta["ui"];
  return {
    ...meta,
    ui: { ...(isJsonObject(own) && own), resourceUri: uri },
    ...(meta[flatKey] !== undefined && { [flatKey]: uri }),
  };
}

/** The older form of `ui.resourceUri`. */
const flatKey = "ui/resourceUri";

/** Two servers may have the same address: where the tools of all are offered, it names its server. */
export function uriHere({ tools }: Runtime, { tool, ui, facts }: Offer, at: string | undefined): string | undefined {
  if (ui === undefined || uiReaderOf(insideOf(tools).toolNamed(tool)) === undefined) return undefined;
  if (at !== undefined || facts.server === undefined) return ui.resourceUri;
  return `ui://${facts.server}/${ui.resourceUri.slice("ui://".length)}`;
}

function withoutUi({ ui: _, [flatKey]: _flat, ...rest }: JsonObject): JsonObject {
  return rest;
}
