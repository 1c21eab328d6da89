/** After the first screen is drawn and the browser has nothing else to do. */
export function whenIdle(act: () => void): void {
  if ("requestIdleCallback" in window) requestIdleCallback(act, { timeout: 5_000 });
  else setTimeout(act, 2_000);
}
