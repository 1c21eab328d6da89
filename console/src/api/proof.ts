/**
 * The proof of the session. A browser sends the cookie to every port of this host, so the server also wants a word that
 * it gave once, at the sign-in. This origin keeps it for all its tabs and sends it with every request.
 */
export const proofName = "postern.proof";

/** What this browser keeps for all pages of this origin. Undefined when it keeps nothing. */
export function kept(name: string): string | undefined {
  try {
    return localStorage.getItem(name) ?? undefined;
  } catch {
    return undefined;
  }
}

export function keep(name: string, value: string | undefined): void {
  try {
    if (value === undefined) localStorage.removeItem(name);
    else localStorage.setItem(name, value);
  } catch {
    // A browser that keeps nothing has it as long as the page.
  }
}

/** For a browser that keeps nothing. */
let inThisPage: string | undefined;
let isLost = false;

export function proof(): string | undefined {
  return kept(proofName) ?? inThisPage;
}

export function storeProof(word: string | undefined): void {
  inThisPage = word;
  isLost = false;
  keep(proofName, word);
}

/** The server saw the cookie without the proof. */
export function proofRefused(): void {
  isLost = true;
}

export function isProofLost(): boolean {
  return isLost;
}
