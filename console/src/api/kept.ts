/** What this browser keeps for all pages of this origin. Where it keeps nothing, nothing breaks. */
export function kept(name: string): string | undefined {
  try {
    return localStorage.getItem(name) ?? undefined;
  } catch {
    return undefined; // it is as if nothing had been kept
  }
}

export function keep(name: string, value: string | undefined): void {
  try {
    if (value === undefined) localStorage.removeItem(name);
    else localStorage.setItem(name, value);
  } catch {
    // what is kept nowhere lasts as long as the page
  }
}
