import { mkdtemp, rm, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { messageOf } from "@postern/core";
import type { Browser, LaunchOptions } from "playwright-core";
import type { BrowserToolsOptions } from "./options.ts";

/**
 * Chromium uses only the last list of features, so this one repeats Playwright's. The first feature asks the local
 * network for the `.local` names that a page states in WebRTC.
 */
const disabledFeatures = [
  ...["WebRtcHideLocalIpsWithMdns", "AvoidUnnecessaryBeforeUnloadCheckSync", "DestroyProfileOnBrowserClose"],
  ...["HttpsUpgrades", "HttpsFirstBalancedModeAutoEnable", "LensOverlay", "MediaRouter", "PaintHolding"],
  ...["ThirdPartyStoragePartitioning", "AvoidCorsURLLoaderRestartOnRedirect", "TcpPortRandomizationWin"],
  ...["OptimizationHints", "NetworkTimeServiceQuerying", "AimEnabled", "PreconnectToSearch"],
  ...["msForceBrowserSignIn", "msEdgeUpdateLaunchServicesPreferredVersion"],
];

/** Closes each way to the network that does not use the proxy: WebRTC, QUIC, and every name or address but the proxy's. */
const flags = [
  ...["--webrtc-ip-handling-policy=disable_non_proxied_udp", "--disable-quic"],
  ...["--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1", `--disable-features=${disabledFeatures.join(",")}`],
  ...["--disable-gpu", "--no-first-run", "--disable-background-networking", "--disable-component-update"],
  "--disable-sync",
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
  let openers: string | undefined;
  try {
    openers = await noOpeners();
    const env = { ...process.env, ...(openers !== undefined && { PATH: `${openers}:${process.env["PATH"] ?? ""}` }) };
    const browser = await chromium.launch({ ...where, headless: true, chromiumSandbox: sandbox, args: flags, env });
    browser.on("disconnected", () => void removed(openers));
    return browser;
  } catch (error) {
    await removed(openers);
    throw notStarted(
      `Chromium did not start (${messageOf(error).split("\n", 1)[0]}); name it with \`executablePath\`${sandbox ? ", and set `sandbox: false` where its sandbox cannot start (root, some containers)" : ""}`,
      error,
    );
  }
}

/** Without these programs a `mailto:` link starts the mail program of this machine, unasked. Only Linux looks in `PATH`. */
async function noOpeners(): Promise<string | undefined> {
  if (process.platform !== "linux") return undefined;
  const folder = await mkdtemp(join(tmpdir(), "postern-browser-"));
  for (const opener of ["xdg-open", "xdg-email"]) await symlink("/bin/false", join(folder, opener));
  return folder;
}

async function removed(folder: string | undefined): Promise<void> {
  if (folder !== undefined) await rm(folder, { recursive: true, force: true }).catch(() => undefined); // links stay, nothing else
}

/** Nothing has happened, so the approval is not used up. */
function notStarted(why: string, cause: unknown): Error {
  return Object.assign(new Error(`No page can be opened: ${why}.`, { cause }), { notExecuted: true });
}
