import { ProtocolError, ProtocolErrorCode, type ReadResourceResult, type Server } from "@modelcontextprotocol/server";
import type { Principal } from "../../calls/call.ts";
import { RuntimeFault } from "../../calls/fault.ts";
import type { ArtifactStore } from "../../results/artifact-store.ts";
import { readArtifactName } from "../../tools/builtin/read-artifact.ts";
import { artifactUri } from "./answer.ts";

/** One message holds no more of an artifact. */
const mostBytes = 8 * 2 ** 20;

/**
 * `resources/read` for artifacts: what was too large for an answer, whole, for those it was released to. Nothing is
 * listed: an answer names what its caller may read.
 */
export function serveArtifacts<Context>(
  server: Server,
  artifacts: ArtifactStore,
  callerOf: (context: Context) => Principal,
): void {
  server.setRequestHandler("resources/list", () => ({ resources: [] }));
  server.setRequestHandler("resources/templates/list", () => ({
    resourceTemplates: [
      {
        uriTemplate: artifactUri("{digest}"),
        name: "artifact",
        description: "A tool result that was too large to be given back whole, by its digest.",
      },
    ],
  }));
  server.setRequestHandler(
    "resources/read",
    ({ params }, context) => readResource(params.uri, artifacts, callerOf(context as Context)), // the SDK's context of this server
  );
}

async function readResource(uri: string, artifacts: ArtifactStore, caller: Principal): Promise<ReadResourceResult> {
  const [, digest] = /^artifact:([0-9a-f]{64})$/.exec(uri) ?? [];
  if (digest === undefined)
    throw invalid(`There is no resource \`${uri.slice(0, 200)}\`; only artifacts can be read here.`);
  try {
    const { bytes: size, mediaType } = await artifacts.meta(digest, caller);
    if (size > mostBytes)
      throw invalid(
        `The artifact has ${size} bytes and a resource is read up to ${mostBytes}; read it by parts with the tool \`${readArtifactName}\`.`,
      );
    const { bytes } = await artifacts.open(digest, caller);
    return { contents: [{ uri, mimeType: mediaType, ...bodyOf(bytes) }] };
  } catch (error) {
    if (error instanceof RuntimeFault && error.code === "artifact_unavailable") throw invalid(error.message);
    throw error;
  }
}

function bodyOf(bytes: Uint8Array): { readonly text: string } | { readonly blob: string } {
  try {
    return { text: new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes) };
  } catch {
    return { blob: Buffer.from(bytes).toString("base64") }; // it is no UTF-8
  }
}

function invalid(message: string): ProtocolError {
  return new ProtocolError(ProtocolErrorCode.InvalidParams, message);
}
