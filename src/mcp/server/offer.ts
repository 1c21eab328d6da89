import type { Tool } from "@modelcontextprotocol/server";
import { readArtifactName } from "../../builtin/read-artifact.ts";
import { digestOf, type JsonObject } from "../../core/json.ts";
import type { Runtime } from "../../runtime/api.ts";
import { insideOf } from "../../tools/registry.ts";
import type { Offer } from "../../tools/tool.ts";
import { publicName } from "../../tools/upstream-names.ts";
import { ownNameOf } from "../client/adapter.ts";
import { metaWithUi } from "./ui-address.ts";
import type { Visit } from "./visit.ts";

/** Where a name leads. Not necessarily to a tool that exists: the gates say that, and count it. */
export interface OfferTarget {
  readonly tool: string;
  readonly action: string;
}

/** What this caller may see here, in the order of the names: the same list for the same rights, whatever came first. */
export function listed(runtime: Runtime, visit: Visit, isOld: boolean): Tool[] {
  const { server } = visit;
  return shownOffers(runtime, visit)
    .map((action) =>
      describe(action, {
        name: server === undefined ? openName(action) : localName(runtime, action),
        isOld,
        meta: metaWithUi(runtime, action, visit),
      }),
    )
    .sort((one, other) => (one.name < other.name ? -1 : 1));
}

/** What this caller may see here. */
export function shownOffers(runtime: Runtime, { caller, server }: Visit): readonly Offer[] {
  return runtime
    .offered(caller.principal)
    .filter(({ kind, facts, tool }) => {
      const isHere = server === undefined || facts.server === server || isReader(runtime, server, tool);
      return kind !== "hosted" && isHere;
    })
    .filter(({ tool }) => runtime.tools.blocked(tool)?.why !== "new"); // its very name is a stranger's word
}

/** Connected or not: configured, or told by a tool that was registered under it. */
export function isServer(runtime: Runtime, name: string): boolean {
  return (
    runtime.health().servers.some((server) => server.name === name) ||
    runtime.tools.offers().some(({ facts }) => facts.server === name)
  );
}

/** Names lead by table: an action is found by making its name, never by taking one apart. */
export function targetOf(runtime: Runtime, { server }: Visit, name: string): OfferTarget {
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

/** Whoever gets a server's results reads the large ones with it, also at the server's own address; a server's own tool goes first. */
function isReader({ tools }: Runtime, server: string, tool: string): boolean {
  return tool === readArtifactName && !tools.has(publicName(server, readArtifactName));
}

function openName({ tool, name }: Offer): string {
  return name === "default" ? tool : publicName(tool, name);
}

/** As its server calls it; a tool of ours that was registered under a server has its open name there, too. */
function localName({ tools }: Runtime, offer: Offer): string {
  const registered = insideOf(tools).toolNamed(offer.tool);
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
    ...(title !== undefined && { title }),
    description,
    inputSchema: schemaOf(inputSchema),
    ...(promisesStructure(action, isOld) && { outputSchema: promisedOf(action) }),
    annotations: { ...annotations },
    ...(icons !== undefined && { icons: icons as unknown as Tool["icons"] }), // checked when they were listed
    _meta: {
      ...meta,
      "postern/risk": facts.risk,
      ...(providerSpecs !== undefined && { "postern/provider_specs": providerSpecs }),
      ...(callTypes !== undefined && { "postern/call_types": callTypes }),
      "postern/supports_preview": action.previews,
      "postern/idempotency": contractOf(action),
    },
  };
}

/** SPEC 13.4: what a client that repeats a call can count on. */
function contractOf({ idempotent, requireIdempotencyKey }: Offer): string {
  if (requireIdempotencyKey) return "key_required";
  return idempotent ? "idempotent" : "once_per_key";
}

const anythingElse = {
  description: "Anything else: parts may be masked, and a large value is left out: the text says where it is.",
};

/** Whether a tool is listed with an output schema. Revision 2025-11-25 knows objects only. */
export function promisesStructure(offer: Pick<Offer, "outputSchema"> | undefined, isOld: boolean): boolean {
  return offer?.outputSchema !== undefined && (!isOld || offer.outputSchema["type"] === "object");
}

/**
 * What the tool's author promises, without a promise of ours: what goes back may be redacted, cut or kept by reference, and
 * clients refuse an answer that does not fit.
 */
function promisedOf({ outputSchema: schema = {} }: Offer): Tool["outputSchema"] {
  const isObject = schema["type"] === "object";
  const { $schema, ...own } = schema;
  // Its references start at its own root.
  const $id = own["$id"] ?? `urn:sha256:${digestOf(schema)}`;
  return {
    ...($schema !== undefined && { $schema }),
    ...(isObject && { type: "object" }),
    anyOf: [{ ...(JSON.stringify(own).includes('"$ref"') && { $id }), ...own }, anythingElse],
  } as Tool["outputSchema"]; // an object schema where the revision wants one
}

/** Arguments are an object; the protocol wants that to be said. */
function schemaOf(schema: JsonObject): Tool["inputSchema"] {
  return { ...schema, type: "object" };
}
