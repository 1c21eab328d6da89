let command = "postern";

/** How commands are typed where Postern was started. The session names them. */
export function setCommandName(name = "postern"): void {
  command = name;
}

/** A sentence of the server, with its commands as they are typed there. */
export function withCommandName(sentence: string): string {
  return sentence.replaceAll("`postern ", () => `\`${command} `);
}

/** Why a call was refused. The text of a tool that failed stays as it is. */
export function refusalText(code: string | undefined, message: string): string {
  return code === "tool_failed" ? message : withCommandName(message);
}
