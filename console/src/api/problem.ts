import { refusalText } from "./typed.ts";

/** What the server said no with: `code` is stable, `message` is a sentence for a person, `body` may hold more beside it. */
export class Problem extends Error {
  readonly code: string;
  readonly status: number;
  readonly body: unknown;

  constructor(code: string, message: string, status: number, body?: unknown) {
    super(message);
    this.name = "Problem";
    this.code = code;
    this.status = status;
    this.body = body;
  }
}

export async function problemOf(response: Response): Promise<Problem> {
  let body: unknown;
  try {
    body = await response.json();
  } catch {
    body = undefined; // no JSON: the status has to say it
  }
  const { code, message } = errorOf(body);
  return new Problem(
    code ?? `http_${response.status}`,
    message === undefined ? `The server answered ${response.status}.` : refusalText(code, message),
    response.status,
    body,
  );
}

function errorOf(body: unknown): { readonly code?: string | undefined; readonly message?: string | undefined } {
  if (typeof body !== "object" || body === null || !("error" in body)) return {};
  const { error } = body;
  if (typeof error !== "object" || error === null) return {};
  return {
    code: "code" in error && typeof error.code === "string" ? error.code : undefined,
    message: "message" in error && typeof error.message === "string" ? error.message : undefined,
  };
}

/** What to tell a person. */
export function sentenceOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
