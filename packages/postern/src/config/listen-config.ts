/** The `listen` section of a configuration file. */
import { z } from "zod";
import { isNetwork } from "../server/http/trusted-proxies.ts";
import { isListenHost, wrongListenHost } from "./overrides.ts";

/** `https://HOST` or `https://HOST:PORT`, as in a browser's `Origin`. */
export const publicUrlPattern: RegExp = /^https:\/\/[a-z0-9.-]+(?::\d{1,5})?$/;

/** As a client writes it in `Host`: browsers write small letters, and leave out the port 80. */
function isHostValue(text: string): boolean {
  return URL.canParse(`http://${text}`) && new URL(`http://${text}`).host === text;
}

export const listenSchema = z.strictObject({
  host: z
    .string()
    .refine(isListenHost, wrongListenHost)
    .exactOptional()
    .describe(
      "Where it listens; 127.0.0.1 by default, because tokens and passwords cross any other network in plain text. Beyond this machine put a proxy with TLS in front: docs/guide/server.md.",
    ),
  port: z.int().min(0).max(65_535).exactOptional().describe("7420 by default; 0 takes a free one."),
  hosts: z
    .array(
      z
        .string()
        .refine(
          isHostValue,
          "Write it as clients do in `Host`: `postern.internal` or `postern.internal:8443`, in small letters.",
        ),
    )
    .exactOptional()
    .describe(
      "Names by which clients call it, beside its own addresses: `postern.internal`, or with a port. It answers to no other, so that no web page reaches it by a name of its own.",
    ),
  trusted_proxies: z
    .array(
      z
        .string()
        .refine(
          isNetwork,
          "Write an address or a network: `10.0.0.2`, `10.0.0.0/24`, `fd00::/8`. A name or `/0` is not one.",
        ),
    )
    .exactOptional()
    .describe(
      "Proxies whose `X-Forwarded-For` (the client's address) and `X-Forwarded-Proto` (https) are believed; none by default. They must set both themselves and keep `Host`.",
    ),
  public_url: z
    .string()
    .regex(publicUrlPattern, "must be `https://HOST` or `https://HOST:PORT`, without a path")
    .exactOptional()
    .describe(
      "How people reach it through the proxy in front, which keeps the `Host` header; `channels.console_url` by default.",
    ),
  max_connections_per_address: z
    .int()
    .min(1)
    .max(100_000)
    .exactOptional()
    .describe("Open connections of one peer, loopback and a proxy's included; default 1000."),
});
