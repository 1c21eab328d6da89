import { hostPatternProblem, parseRisk, type Risk, RuntimeFault } from "@postern/core";
import type { Viewport } from "./actions.ts";
import type { ComputerDeclarations } from "./declarations.ts";
import type { TabOptions } from "./tab.ts";

/**
 * What pages may be used, and how.
 *
 * @public
 */
export interface BrowserToolsOptions {
  /** Hosts that pages may come from and load from: `example.com`, `*.example.com`, or `*` for every public host. */
  readonly allowedHosts: readonly string[];
  /** Private addresses too, such as a server on this machine. Default: false. */
  readonly allowPrivate?: boolean;
  /** In pixels. Default: 1280 × 800. */
  readonly viewport?: Viewport;
  /** The program. Default: the one that Playwright has installed. */
  readonly executablePath?: string;
  /** Chromium's own sandbox. `false` removes a line of defence; a container without user namespaces may need it. Default: true. */
  readonly sandbox?: boolean;
  /** The risk of clicking, typing and navigating. Default: `medium`; `safe` is refused. */
  readonly risk?: Exclude<Risk, "safe">;
  readonly declare?: ComputerDeclarations;
  /** Default: 10,000. */
  readonly actionTimeoutMs?: number;
  /** Default: 15,000. */
  readonly navigationTimeoutMs?: number;
  /** Keep a run's page when its session closes, so that an approval that comes later finds it. Default: false. */
  readonly keepPages?: boolean;
  /** Runs with an open page. Another one closes the page that was unused for longest. Default: 8. */
  readonly maxPages?: number;
}

/** @throws RuntimeFault `options_invalid` */
export function checkOptions(options: BrowserToolsOptions, { viewport, ...times }: TabOptions): void {
  const wrong = (what: string): RuntimeFault => new RuntimeFault("options_invalid", `browserTools: ${what}.`);
  const { allowedHosts, risk = "medium", maxPages = 8 } = options;
  if (!Array.isArray(allowedHosts)) throw wrong("`allowedHosts` must be a list of hosts");
  for (const pattern of allowedHosts) {
    const problem = typeof pattern !== "string" ? "no text" : pattern === "*" ? undefined : hostPatternProblem(pattern);
    if (problem !== undefined) throw wrong(`\`allowedHosts\` holds \`${String(pattern)}\`, which is ${problem}`);
  }
  if (parseRisk(risk) === undefined || risk === ("safe" as Risk))
    throw wrong(`\`risk\` is \`${risk}\`; it must be medium, high or critical`);
  const numbers = {
    ...viewport,
    maxPages,
    actionTimeoutMs: times.actionTimeoutMs,
    navigationTimeoutMs: times.navigationTimeoutMs,
  };
  for (const [name, value] of Object.entries(numbers))
    if (!(Number.isSafeInteger(value) && value > 0))
      throw wrong(`\`${name}\` is ${value}; it must be a whole number above 0`);
}
