import type { ReadResourceResult } from "@modelcontextprotocol/server";
import { defined, messageOf, type Principal, RuntimeFault, readArtifactName } from "@postern/core";
import { collected } from "../../results/streams.ts";
import type { Runtime } from "../../runtime/api/api.ts";
import { internalsOf } from "../../tools/registry.ts";
import { uiReaderOf } from "../../tools/ui.ts";
import { RpcFault, rpcCodes } from "../protocol/peer.ts";
import { artifactUri } from "./answer.ts";
import { shownOffers, uriHere } from "./offer.ts";
import type { RequestSource } from "./request-source.ts";

/** One message holds no more of an artifact. */
const mostBytes = 8 * 2 ** 20;

/** The addresses of artifacts. Artifacts are not listed: an answer names what its caller may read. */
export const artifactTemplate = {
  uriTemplate: artifactUri("{digest}"),
  name: "artifact",
  description: "A tool result that was too large to be given back whole, by its digest.",
} as const;

/** `resources/read` of artifacts, for callers that they were released to, and of the pages of tools. */
export function readResource(uri: string, runtime: Runtime, source: RequestSource): Promise<ReadResourceResult> {
  return uri.startsWith("ui://") ? readUi(uri, runtime, source) : readArtifact(uri, runtime, source.caller.principal);
}

/** What guardrails found or did not examine is a text before the bytes. */
async function readArtifact(uri: string, runtime: Runtime, caller: Principal): Promise<ReadResourceResult> {
  const [, digest] = /^artifact:([0-9a-f]{64})$/.exec(uri) ?? [];
  if (digest === undefined)
    throw invalid(
      `There is no resource \`${uri.slice(0, 200)}\`; only artifacts and the pages of tools (ui://…) can be read here.`,
    );
  try {
    const { bytes: size, mediaType } = await runtime.artifacts.meta(digest, caller);
    if (size > mostBytes)
      throw invalid(
        `The artifact has ${size} bytes and a resource is read up to ${mostBytes}; read it by parts with the tool \`${readArtifactName}\`.`,
      );
    const { chunks, notes } = await runtime.readArtifact(digest, caller);
    const own = { uri, mimeType: mediaType, ...bodyOf(await collected(chunks)) };
    const about = { uri: `${uri}#notes`, mimeType: "text/plain", text: notes.join("\n") };
    return { contents: notes.length === 0 ? [own] : [about, own] };
  } catch (error) {
    if (error instanceof RuntimeFault && error.code === "artifact_unavailable") throw invalid(error.message);
    throw error;
  }
}

/** `resources/read` of a tool's page. A caller that is offered the tool may read it, and nothing else of the server. */
async function readUi(uri: string, runtime: Runtime, source: RequestSource): Promise<ReadResourceResult> {
  const offer = shownOffers(runtime, source).find((one) => uriHere(runtime, one, source.server) === uri);
  const read = offer && uiReaderOf(internalsOf(runtime.tools).toolNamed(offer.tool));
  if (read === undefined)
    throw invalid(
      `No tool here has a page \`${uri.slice(0, 200)}\`; \`tools/list\` names each in \`_meta.ui.resourceUri\`.`,
    );
  const problem = offer && runtime.tools.unavailable(offer);
  if (problem !== undefined) throw invalid(problem);
  try {
    const { mimeType, text, blob, meta } = await read();
    const body = text === undefined ? { blob: blob ?? "" } : { text };
    return { contents: [{ uri, mimeType, ...body, ...defined({ _meta: meta }) }] };
  } catch (error) {
    throw new RpcFault(rpcCodes.internal, messageOf(error));
  }
}

function bodyOf(bytes: Uint8Array): { readonly text: string } | { readonly blob: string } {
  try {
    return { text: new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes) };
  } catch {
    return { blob: Buffer.from(bytes).toString("base64") }; // it is no UTF-8
  }
}

function invalid(message: string): RpcFault {
  return new RpcFault(rpcCodes.invalidParams, message);
}
