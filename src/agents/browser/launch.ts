import type { Browser, LaunchOptions } from "playwright-core";
import { messageOf } from "../../core/fault.ts";
import type { BrowserToolsOptions } from "./options.ts";

/** Turned off, because WebRTC and QUIC would bypass the proxy. */
const flags = [
  ...["--disable-quic", "--force-webrtc-ip-handling-policy=disable_non_proxied_udp", "--disable-gpu"],
  ...["--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"],
];

/** Chromium, headless. Playwright is loaded here. */
export async function launch({ executablePath, sandbox = true }: BrowserToolsOptions): Promise<Browser> {
  let chromium: typeof import("playwright-core").chromium;
  try {
    ({ chromium } = await import("playwright-core"));
  } catch (error) {
    throw notStarted("`playwright-core` is not installed; add it to your project", error);
  }
  const where: LaunchOptions = executablePath === undefined ? {} : { executablePath };
  try {
    return await chromium.launch({ ...where, headless: true, chromiumSandbox: sandbox, args: flags });
  } catch (error) {
    throw notStarted(
      `Chromium did not start (${messageOf(error).split("\n", 1)[0]}); name it with \`executablePath\`${sandbox ? ", and set `sandbox: false` where its sandbox cannot start (root, some containers)" : ""}`,
      error,
    );
  }
}

/** Nothing has happened, so the approval is not used up. */
function notStarted(why: string, cause: unknown): Error {
  return Object.assign(new Error(`No page can be opened: ${why}.`, { cause }), { notExecuted: true });
}
