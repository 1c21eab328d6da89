/** Who did something, and by which credential where that was kept. */
export function actorText(by: string, via: string | undefined): string {
  return via === undefined ? by : `${by} (${via})`;
}
