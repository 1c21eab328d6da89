/** What an operator has switched off. */
export interface Switches {
  readonly offTools: readonly string[];
  readonly offServers: readonly string[];
  /** Has the reasons, of pauses of other kinds too. */
  readonly pauses?: readonly { readonly kind: string; readonly name: string; readonly reason?: string }[];
}

/** Why a tool cannot be called, as a part of a sentence. The operator's name is not told. */
export function offText({ pauses }: Switches, kind: "tool" | "server", name: string): string {
  const reason = pauses?.find((one) => one.kind === kind && one.name === name)?.reason?.trim() ?? "";
  const what = kind === "server" ? `the server \`${name}\`` : `\`${name}\``;
  return `${what} is switched off by an operator${reason === "" ? "" : ` (${reason})`}`;
}
