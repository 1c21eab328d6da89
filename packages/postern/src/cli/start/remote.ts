import { RuntimeFault } from "@postern/core";
import { isLoopbackHost } from "../../server/http/own-hosts.ts";
import { givenSecret, type SecretEnvironment, secretIn } from "../../system/given-secret.ts";
import type { GlobalFlags } from "../host.ts";
import { UsageProblem } from "../usage-problem.ts";

/** A Postern on another host, and with which token it is asked. */
export interface Remote {
  readonly url: string;
  readonly token: string;
}

/**
 * What `--url` names. Returns undefined without it.
 *
 * @throws UsageProblem for an address to which no token may be sent; RuntimeFault `token_missing`, `config_invalid`
 */
export async function remoteOf(
  { url: typed, tokenFile }: GlobalFlags,
  environment?: SecretEnvironment,
): Promise<Remote | undefined> {
  if (typed === undefined) {
    if (tokenFile === undefined) return undefined;
    throw new UsageProblem("`--token-file` goes with `--url`; without it the tokens of the data folder are used.");
  }
  const url = remoteUrl(typed);
  const token =
    tokenFile === undefined
      ? (await givenSecret("POSTERN_TOKEN", environment))?.text
      : await secretIn(tokenFile, "--token-file");
  if (token === undefined)
    throw new RuntimeFault(
      "token_missing",
      `There is no token for ${url}. Set POSTERN_TOKEN, or name a file with \`--token-file\`; an administrator there makes one with \`postern tokens create NAME\`.`,
    );
  if (!/^[\x21-\x7e]+$/.test(token))
    throw new RuntimeFault("config_invalid", `The token for ${url} holds a space or a line end; give the token alone.`);
  return { url, token };
}

/** @throws UsageProblem */
export function remoteUrl(typed: string): string {
  const url = URL.canParse(typed) ? new URL(typed) : undefined;
  const isPlain = url !== undefined && url.origin === typed.replace(/\/$/, "");
  if (!isPlain || !/^https?:$/.test(url.protocol))
    throw new UsageProblem(
      `\`--url ${typed}\` is no address of a Postern; write \`https://HOST\` or \`https://HOST:PORT\`.`,
    );
  if (url.protocol === "http:" && !isLoopbackHost(url.hostname.replace(/^\[|\]$/g, "")))
    throw new UsageProblem(
      `\`--url ${typed}\`: without TLS others on the network read the token. Write \`https://…\`, the proxy in front of Postern; or forward a port (\`ssh -L 7420:127.0.0.1:7420 HOST\`) and use \`http://127.0.0.1:7420\`.`,
    );
  return url.origin;
}
