/** Answers in a form that the client accepts. The protocol wants two types named; many clients name one, any or none. */

interface Accepted {
  readonly json: boolean;
  readonly stream: boolean;
  /** `text/event-stream` is named, not only covered by a wildcard. */
  readonly namesStream: boolean;
}

const both = "application/json, text/event-stream";

/** Returns undefined when neither form is accepted; the SDK's own refusal is right then. */
export function acceptedBy({ headers }: Request): Accepted | undefined {
  const types = (headers.get("accept") ?? "*/*")
    .split(",")
    .map((type) => type.split(";", 1)[0]?.trim().toLowerCase() ?? "");
  const takes = (...names: readonly string[]): boolean => names.some((name) => types.includes(name));
  const json = takes("application/json", "application/*", "*/*");
  const stream = takes("text/event-stream", "text/*", "*/*");
  return json || stream ? { json, stream, namesStream: takes("text/event-stream") } : undefined;
}

/** Names both forms, as the SDK's transport requires. */
export function acceptBothForms(request: Request): void {
  request.headers.set("accept", both);
}

/** Turns the response into the accepted form. A stream that stays open is not turned into one answer. */
export async function inAcceptedForm(response: Response, accepted: Accepted, staysOpen: boolean): Promise<Response> {
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

/** The last message of a stream; those before it report progress. */
function answerIn(events: string): string {
  const messages = events
    .split(/\r?\n\r?\n/)
    .map((event) =>
      event.split(/\r?\n/).flatMap((line) => (line.startsWith("data:") ? [line.slice(5).trimStart()] : [])),
    )
    .map((lines) => lines.join("\n"));
  return messages.findLast((message) => message !== "") ?? "";
}
