/**
 * The second half of the session. A browser sends the cookie to every port of this host, so the cookie alone is nobody's:
 * signing in tells a word once, which this origin keeps for all its tabs and sends with every request.
 *
 * Invariant: it is taken out of the address before anything is drawn, and only where this browser went to a provider.
 */
import { keep, kept } from "./kept.ts";

const place = "postern.proof";
const elsewherePlace = "postern.signing-in-elsewhere";
const elsewhereMs = 10 * 60_000;

/** Where the browser keeps nothing for pages, it lasts as long as the page. */
let here: string | undefined;
let isLost = false;

export function proof(): string | undefined {
  return kept(place) ?? here;
}

export function keepProof(word: string | undefined): void {
  here = word;
  isLost = false;
  keep(place, word);
}

/** The server saw the cookie and no proof: what this page knew of the session is gone. */
export function proofRefused(): void {
  isLost = true;
}

export function isProofLost(): boolean {
  return isLost;
}

/** Somebody signed in or out in another tab. @param listener `isGone`: out */
export function whenProofChanges(listener: (isGone: boolean) => void): void {
  window.addEventListener("storage", ({ key }) => {
    if (key === place || key === null) listener(proof() === undefined);
  });
}

/** On the way to a provider: its way back is the one address that a proof is taken from. */
export function goElsewhere(): void {
  keep(elsewherePlace, String(Date.now()));
}

export function takeProof(): void {
  const word = new URLSearchParams(location.hash.slice(1)).get("csrf");
  if (word === null) return;
  history.replaceState(null, "", `${location.pathname}${location.search}`);
  const began = Number(kept(elsewherePlace) ?? 0);
  keep(elsewherePlace, undefined);
  if (Date.now() - began < elsewhereMs) keepProof(word); // else somebody made this link
}
