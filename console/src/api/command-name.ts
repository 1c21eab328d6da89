let command = "postern";

/** How commands are typed where Postern was started. The session names them. */
export function setCommandName(name = "postern"): void {
  command = name;
}

/** A sentence of the server, with its commands as they are typed there. */
export function withCommandName(sentence: string): string {
  return sentence.replaceAll("`postern ", () => `\`${command} `);
}

/** A sentence of the server as a person reads it: of this request, without its id and without signs of code. */
export function plainSentence(sentence: string): string {
  return withCommandName(sentence)
    .replaceAll(/(?:The|the) (?:approval|request) `apr_[\w-]+`/g, (found) =>
      found.startsWith("T") ? "This request" : "this request",
    )
    .replaceAll(/`apr_[\w-]+`/g, "this request")
    .replaceAll(/`([^`]+)`/g, "“$1”");
}

/** Refusals with the words of a tool, or of a person who denied the call. */
const saidByOthers: ReadonlySet<unknown> = new Set(["tool_failed", "approval_denied"]);

/** Why a call was refused. What others said stays as it is. */
export function refusalText(code: string | undefined, message: string): string {
  return saidByOthers.has(code) ? message : plainSentence(message);
}
