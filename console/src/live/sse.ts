/** Server-sent events, as the standard frames them. */
export interface Frame {
  readonly event: string;
  readonly id: string;
  readonly data: string;
}

/** Reads to the end. Calls `onPiece` at every piece, also for comments. */
export async function parseStream(
  body: ReadableStream<Uint8Array>,
  onPiece: () => void,
  take: (frame: Frame) => void,
): Promise<void> {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  let rest = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    onPiece();
    rest += decoder.decode(value, { stream: true });
    const frames = rest.split(/\r?\n\r?\n/);
    rest = frames.pop() ?? "";
    for (const text of frames) {
      const frame = frameOf(text);
      if (frame !== undefined) take(frame);
    }
  }
}

function frameOf(text: string): Frame | undefined {
  let event = "message";
  let id = "";
  const data: string[] = [];
  for (const line of text.split(/\r?\n/)) {
    const colon = line.indexOf(":");
    if (colon === 0) continue;
    const name = colon === -1 ? line : line.slice(0, colon);
    const value = colon === -1 ? "" : line.slice(colon + 1).replace(/^ /, "");
    if (name === "event") event = value;
    else if (name === "id") id = value;
    else if (name === "data") data.push(value);
  }
  return data.length === 0 && id === "" && event === "message" ? undefined : { event, id, data: data.join("\n") };
}
