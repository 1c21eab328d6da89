import { readable } from "../../results/readable.ts";
import type { Runtime } from "../../runtime/api/api.ts";
import type { RequestSource } from "./request-source.ts";
import { serversAt, serversFor } from "./visible-servers.ts";

const own =
  "Every tool call passes Postern. A call may need a person's approval: then the result says `approval_pending`; tell the user, and later send the same call again.";
/** Of all servers together. */
const mostCharacters = 10_000;

/** What a client tells its model: Postern's own sentences, then those of the servers at the endpoint that the caller may see. */
export async function instructionsHere(source: RequestSource, runtime: Runtime): Promise<string> {
  const stated = serversAt(source.server, runtime).filter(({ features }) => features.instructions !== undefined);
  let text = "";
  let leftOut = 0;
  for (const { server, features } of await serversFor(source, stated, runtime)) {
    const part = `\n\n# Instructions of the server ${server}\n${readable(features.instructions ?? "")}`;
    if (text.length + part.length <= mostCharacters) text += part;
    else leftOut += 1;
  }
  return `${own}${text}${leftOut === 0 ? "" : `\n\n[Instructions of ${leftOut} more servers are left out.]`}`;
}
