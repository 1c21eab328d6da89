let command = "postern";

/** How commands are typed where Postern was started, as its server tells whoever signs in. */
export function typeAs(said = "postern"): void {
  command = said;
}

/** A sentence of the server's own, with its commands as they are typed where it was started. */
export function typed(sentence: string): string {
  return sentence.replaceAll("`postern ", () => `\`${command} `);
}

/** How a call was refused, in the server's words; a tool that failed has words of its own, which stay as they are. */
export function refusalText(code: string | undefined, message: string): string {
  return code === "tool_failed" ? message : typed(message);
}
