/** Answers in the form that a client takes. Many clients name one type, any type, or none, and mean whatever they can read. */

interface Accepted {
  readonly json: boolean;
  readonly stream: boolean;
  /** `text/event-stream` is named, not covered by a wildcard. */
  readonly namesStream: boolean;
}

const both = "application/json, text/event-stream";

/** Undefined: neither form is accepted, and the protocol's own answer to that is right. */
export function acceptedBy({ headers }: Request): Accepted | undefined {
  const types = (headers.get("accept") ?? "*/*")
    .split(",")
    .map((type) => type.split(";", 1)[0]?.trim().toLowerCase() ?? "");
  const takes = (...names: readonly string[]): boolean => names.some((name) => types.includes(name));
  const json = takes("application/json", "application/*", "*/*");
  const stream = takes("text/event-stream", "text/*", "*/*");
  return json || stream ? { json, stream, namesStream: takes("text/event-stream") } : undefined;
}

/** The transport wants both forms named. */
export function naming(request: Request): void {
  request.headers.set("accept", both);
}

/** A stream that stays open is never made one answer of: nothing would come until it ends. */
export async function inForm(response: Response, accepted: Accepted, staysOpen: boolean): Promise<Response> {
  const type = response.headers.get("content-type") ?? "";
  if (type.startsWith("text/event-stream") && !accepted.namesStream && accepted.json && !staysOpen)
    return withBody(response, answerIn(await response.text()), "application/json");
  if (type.startsWith("application/json") && !accepted.json && response.ok)
    return withBody(response, `event: message\ndata: ${await response.text()}\n\n`, "text/event-stream");
  return response;
}

function withBody({ status, headers: given }: Response, body: string, type: string): Response {
  const headers = new Headers(given);
  headers.set("content-type", type);
  headers.delete("content-length");
  return new Response(body, { status, headers });
}

/** The last message: what came before it told of progress. */
function answerIn(events: string): string {
  const messages = events
    .split(/\r?\n\r?\n/)
    .map((event) =>
      event.split(/\r?\n/).flatMap((line) => (line.startsWith("data:") ? [line.slice(5).trimStart()] : [])),
    )
    .map((lines) => lines.join("\n"));
  return messages.findLast((message) => message !== "") ?? "";
}
