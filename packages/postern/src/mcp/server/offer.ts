import type { Tool } from "@modelcontextprotocol/server";
import { defined, isJsonObject, type JsonObject, readArtifactName } from "@postern/core";
import { digestOf } from "@postern/core/system";
import type { Runtime } from "../../runtime/api/api.ts";
import { internalsOf } from "../../tools/registry.ts";
import type { Offer } from "../../tools/tool.ts";
import { uiReaderOf } from "../../tools/ui.ts";
import { publicName } from "../../tools/upstream-names.ts";
import { ownNameOf } from "../client/adapter.ts";
import type { RequestSource } from "./request-source.ts";

/** The tool that a name means. It may not exist: the gates refuse and count such a call. */
export interface OfferTarget {
  readonly tool: string;
  readonly action: string;
}

/** The tools that this caller may see at this endpoint, in the order of their names: the same list for the same rights. */
export function toolList(
  runtime: Runtime,
  source: RequestSource,
  isOld: boolean,
  offers: readonly Offer[] = shownOffers(runtime, source),
): Tool[] {
  const { server } = source;
  return offers
    .map((action) =>
      describe(action, {
        name: nameHere(runtime, action, server),
        isOld,
        meta: metaWithUi(runtime, action, source),
      }),
    )
    .sort((one, other) => (one.name < other.name ? -1 : 1));
}

/** The offers that this caller may see at this endpoint. */
export function shownOffers(runtime: Runtime, { caller, server }: RequestSource): readonly Offer[] {
  return runtime
    .offered(caller.principal)
    .filter(({ kind, facts, tool }) => {
      const isHere = server === undefined || facts.server === server || isReader(runtime, server, tool);
      return kind !== "hosted" && isHere;
    })
    .filter(({ tool }) => runtime.tools.blocked(tool)?.why !== "new"); // even the name is untrusted
}

/** Whether a server is configured, connected or not, or a tool is registered under its name. */
export function isServer(runtime: Runtime, name: string): boolean {
  return (
    runtime.health().servers.some((server) => server.name === name) ||
    runtime.tools.offers().some(({ facts }) => facts.server === name)
  );
}

/** Finds the action by comparing names. A name is never taken apart. */
export function targetOf(runtime: Runtime, { server }: RequestSource, name: string): OfferTarget {
  const nowhere: OfferTarget = {
    tool: server === undefined ? name : `${server}/${name}`,
    action: "default",
  }; // no registered name has a slash
  if (server === undefined) {
    if (runtime.tools.has(name)) return { tool: name, action: "default" };
    const action = runtime.offered().find((offered) => openName(offered) === name);
    return action === undefined ? nowhere : { tool: action.tool, action: action.name };
  }
  const isMeant = (offer: Offer | undefined): boolean =>
    offer?.facts.server === server && localName(runtime, offer) === name;
  const likely = runtime.tools.offer(publicName(server, name));
  const action = isMeant(likely) ? likely : runtime.tools.offers().find(isMeant);
  if (action !== undefined) return { tool: action.tool, action: action.name };
  return isReader(runtime, server, name) ? { tool: name, action: "default" } : nowhere;
}

/** The tool that reads large results is offered at a server's endpoint too, unless the server has a tool of that name. */
function isReader({ tools }: Runtime, server: string, tool: string): boolean {
  return tool === readArtifactName && !tools.has(publicName(server, readArtifactName));
}

/** A tool's name at `/mcp`, or at the endpoint of its server. */
export function nameHere(runtime: Runtime, offer: Offer, server: string | undefined): string {
  return server === undefined ? openName(offer) : localName(runtime, offer);
}

function openName({ tool, name }: Offer): string {
  return name === "default" ? tool : publicName(tool, name);
}

/** The server's own name. A local tool that is registered under a server keeps its public name. */
function localName({ tools }: Runtime, offer: Offer): string {
  const registered = internalsOf(tools).toolNamed(offer.tool);
  return (registered && ownNameOf(registered)) ?? openName(offer);
}

interface ShownTools {
  readonly name: string;
  readonly isOld: boolean;
  readonly meta: JsonObject;
}

function describe(action: Offer, { name, isOld, meta }: ShownTools): Tool {
  const { description, title, inputSchema, annotations, icons, facts, providerSpecs, callTypes } = action;
  return {
    name,
    ...defined({ title }),
    description,
    inputSchema: schemaOf(inputSchema),
    ...(promisesStructure(action, isOld) && { outputSchema: promisedOf(action) }),
    annotations: { ...annotations },
    // A safe tool is listed without: clients that see it make a task of each call, which costs two requests more.
    ...(isOld && facts.risk !== "safe" && { execution: asTask }),
    ...(icons !== undefined && { icons: icons as unknown as Tool["icons"] }), // checked when they were listed
    _meta: {
      ...meta,
      "postern/risk": facts.risk,
      ...defined({ "postern/provider_specs": providerSpecs, "postern/call_types": callTypes }),
      "postern/supports_preview": action.previews,
      "postern/idempotency": contractOf(action),
    },
  };
}

/** What a client can rely on when it repeats a call. */
function contractOf({ idempotent, requireIdempotencyKey }: Offer): string {
  if (requireIdempotencyKey) return "key_required";
  return idempotent ? "idempotent" : "once_per_key";
}

/** Clients of 2025-11-25 may call the tool as a task. */
export const asTask = { taskSupport: "optional" } as const;

const anythingElse = {
  description: "Anything else: parts may be masked, and a large value is left out: the text says where it is.",
};

/** Whether a tool is listed with an output schema. Revision 2025-11-25 allows only objects. */
export function promisesStructure(offer: Pick<Offer, "outputSchema"> | undefined, isOld: boolean): boolean {
  return offer?.outputSchema !== undefined && (!isOld || offer.outputSchema["type"] === "object");
}

/**
 * The output schema of the tool, widened to any value: a result may be redacted, cut or kept as an artifact, and clients
 * refuse an answer that does not fit.
 */
function promisedOf({ outputSchema: schema = {} }: Offer): Tool["outputSchema"] {
  const isObject = schema["type"] === "object";
  const { $schema, ...own } = schema;
  // Its references are relative to its own root.
  const $id = own["$id"] ?? `urn:sha256:${digestOf(schema)}`;
  return {
    ...($schema !== undefined && { $schema }),
    ...(isObject && { type: "object" }),
    anyOf: [{ ...(JSON.stringify(own).includes('"$ref"') && { $id }), ...own }, anythingElse],
  } as Tool["outputSchema"]; // an object schema where the revision wants one
}

/** Arguments are an object, and the protocol requires the schema to state it. */
function schemaOf(schema: JsonObject): Tool["inputSchema"] {
  return { ...schema, type: "object" };
}

/** A tool's `_meta` with the address of its page at this endpoint. Unchanged for a tool without a page. */
export function metaWithUi(runtime: Runtime, offer: Offer, { server }: RequestSource): JsonObject {
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

/** The address of a tool's page. It names the server at `/mcp`, because two servers may use one address. */
export function uriHere({ tools }: Runtime, { tool, ui, facts }: Offer, at: string | undefined): string | undefined {
  if (ui === undefined || uiReaderOf(internalsOf(tools).toolNamed(tool)) === undefined) return undefined;
  if (at !== undefined || facts.server === undefined) return ui.resourceUri;
  return `ui://${facts.server}/${ui.resourceUri.slice("ui://".length)}`;
}

function withoutUi({ ui: _, [flatKey]: _flat, ...rest }: JsonObject): JsonObject {
  return rest;
}
